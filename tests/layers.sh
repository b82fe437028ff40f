#!/bin/sh
# layers.sh - the house's table of rooms: which room may include which. Reads every #include and
# fails on an edge that is not in the table.
#
#   sh tests/layers.sh ROOT              look at the tree below ROOT
#   sh tests/layers.sh --prove FOLDER    see each rule go red, in trees made below FOLDER
set -eu

# Every room may also include itself, base/ and the public headers. When the table is wrong for
# something real, it is changed in the same commit, which says why.
table() {
    cat <<'TABLE'
base
device
tensor      device
ops         tensor device
data
collective
model       ops tensor device
optim       ops tensor device
feed        data ops tensor device
strategy    feed model optim collective data ops tensor device
io          model data tensor
train       strategy io feed model optim collective data ops tensor device
bench       train strategy io feed model optim collective data ops tensor device
TABLE
}

# Lines "file:number:include text" of every C file; kernels are included as texts only by optim/.
includes() {
    (
        cd "$1"
        find src include examples tests -type f -name '*.[ch]*' 2>/dev/null | LC_ALL=C sort |
            xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' /dev/null
    )
}

judge() { # reads a tree's includes; prints each bad edge and returns 1 if there is one
    includes "$1" | ROOMS=$(table) LC_ALL=C awk '
        function bad(why) {
            printf "%s:%s: %s: %s\n", file, line, target, why
            failures++
        }
        BEGIN {
            rows = split(ENVIRON["ROOMS"], row, "\n")
            for (r = 1; r <= rows; r++) {
                count = split(row[r], word, " ")
                known[word[1]] = 1
                for (i = 2; i <= count; i++)
                    may[word[1], word[i]] = 1
            }
        }
        {
            split($0, part, ":")
            file = part[1]
            line = part[2]
            target = $0
            quoted = target ~ /include[ \t]*"/
            sub(/^[^<"]*[<"]/, "", target)
            sub(/[>"].*$/, "", target)
            seen++
            depth = split(file, folder, "/")
            room = folder[1] == "src" ? folder[2] : ""
            inner = split(target, step, "/") > 1 ? step[1] : ""

            if (target ~ /^CL\// || target ~ /clblast/) {
                if (room != "device" && file !~ /^tests\/fault\//)
                    bad("only device/ and tests/fault/ see OpenCL and CLBlast")
            } else if (target ~ /\.\./) {
                bad("a path with .. hides which room it leads to")
            } else if (!quoted || inner == "motley") {
                ; # the system, or the public headers
            } else if (folder[1] == "include") {
                bad("a public header includes public headers only")
            } else if (folder[1] == "examples" || room == "cli" || file ~ /^tests\/train\//) {
                own = room == "cli" ? "cli" : "support"
                if (inner != "" && inner != own)
                    bad("sees the public headers and its own folder, nothing else")
            } else if (room != "") {
                if (!(room in known))
                    bad("room " room " is not in the table")
                else if (inner == "cl" && room == "optim")
                    ; # the one text compiled for host and device
                else if (inner != "" && inner != room && inner != "base" && !((room, inner) in may))
                    bad(room "/ may not include " inner "/")
            }
        }
        END {
            if (seen == 0) {
                print "no include seen: wrong folder?"
                failures++
            }
            exit failures > 0
        }'
}

expect() { # red or green, file, include: a tree of that one line
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$2")"
    printf '#include %s\n' "$3" >"$work/tree/$2"
    if judge "$work/tree" >/dev/null; then seen=green; else seen=red; fi
    if [ "$seen" != "$1" ]; then
        echo "layers.sh: $2 with $3 is $seen, not $1" >&2
        exit 1
    fi
}

if [ "$1" = --prove ]; then
    work=$2
    expect green src/ops/dense.c '"device/gemm.h"'
    expect green src/ops/dense.c '"base/status.h"'
    expect green src/ops/dense.c '"dense.h"'
    expect green src/ops/dense.c '<motley/motley.h>'
    expect green src/device/queue.c '<CL/cl.h>'
    expect green src/cli/main.c '"cli/options.h"'
    expect green src/optim/rule.c '"cl/update.cl"'
    expect green tests/fault/layer.c '<CL/cl.h>'
    expect red src/device/queue.c '"ops/dense.h"'
    expect red src/collective/ring.c '"device/device.h"'
    expect red src/data/idx.c '"tensor/tensor.h"'
    expect red src/io/weights.c '"device/device.h"'
    expect red src/base/text.c '"device/device.h"'
    expect red src/kitchen/pot.c '"base/status.h"'
    expect red src/ops/dense.c '<CL/cl.h>'
    expect red src/ops/dense.c '<clblast_c.h>'
    expect red tests/device/test_x.c '<CL/cl.h>'
    expect red src/ops/dense.c '"../device/gemm.h"'
    expect red src/cli/main.c '"base/text.h"'
    expect red examples/digits.c '"train/trainer.h"'
    expect red tests/train/test_x.c '"strategy/lane.h"'
    expect red include/motley/motley.h '"base/status.h"'
    rm -rf "$work/tree"
    echo 'layers.sh: every rule goes red when it should'
else
    judge "$1"
fi
