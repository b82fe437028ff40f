# predict.awk - what the cards of cards.txt should reach, from what their vendors' compilers say of
# our kernels (build/vendors.txt). Nobody has run it on any of them. Run by predict.sh.
#
# Products and launches are those of our tile (MOTLEY_GEMM=tile). Left to itself a card takes CLBlast, but
# for the Arc A770: other kernels, which nothing here knows, and for each dense layer one launch
# more, of bias and activation.
#
#   awk -v launches=16 -v waits=2 -f predict.awk vendors.txt cards.txt
#   awk -v launches=16 -v waits=2 -v here="cores peak gb/s" -f predict.awk
#
# The formula. A product of m x n x k is cut into G groups of side x side items, each 4 x 4 results;
# the library takes side 16 where that gives every unit two groups, else 8. For 16 steps of k an item
# issues 256 multiply-adds, 128 reads of local memory, and for each of its 2 * 64 / side loads a
# read, a write and about 10 instructions of addresses and bounds:
#
#   clocks of an item = max((384 + 12 * loads) / fma, (128 + loads) / local)
#   R = groups that a core holds = least of occupancy * items / side^2 and room / local bytes
#   r = least of R and the groups that a core gets, ceil(G / cores); hidden = r / (r + 1)
#   arithmetic = ceil(G / cores) * side^2 * ceil(k / 16) * clocks / hidden / mhz
#   memory = 4 (m k + k n + m n) / (0.8 gb/s): each number comes once, caches keep the rest
#   a product takes the longer of the two
#
# `hidden`: a group loads, waits and computes in turn, and only other groups fill its waits. A step:
#
#   device = products + bytes of the other kernels / (0.8 gb/s) + launches * gap
#   host = launches * enqueue + waits * wait
#   link = bytes of a batch / (0.8 link)
#   step = the longest of device, host and link: steps are queued ahead, batches go up meanwhile
#
# The CPU at hand (here) by the same reasoning: its tile works from registers, so an item needs its
# multiply-adds alone, at the peak that is measured; tiles of 8 x 32, no more groups than 2 a core or
# 320 Ki multiply-adds each; host and device share the cores, so they add up.

function least(a, b) { return a < b ? a : b }
function most(a, b) { return a > b ? a : b }
function up(a, b) { return int((a + b - 1) / b) }

# ---- one product on card c: microseconds; sets arithmetic_us, memory_us, side, occupied ----------

function pick_side(c, m, n) {
    return up(m, 64) * up(n, 64) >= 2 * units[c] ? 16 : 8
}

function gpu_us(c, m, n, k, ta, tb,    what, groups, each, items, loads, clocks, held) {
    side = pick_side(c, m, n)
    what = "gemm_gpu SIDE" side " TRANS_A" ta " TRANS_B" tb
    occupied = occupancy[what, target[c]]
    if (occupied == "")
        return -1
    items = side * side
    groups = up(m, 4 * side) * up(n, 4 * side)
    each = up(groups, cores[c])
    loads = 2 * 64 / side
    clocks = most((384 + 12 * loads) / fma[c], (128 + loads) / local[c])
    units_wait = clocks > (384 + 12 * loads) / fma[c]
    held = int(least(occupied / 100 * items_held[c] / items, room[c] / bytes[what]))
    held = most(1, least(held, each))
    arithmetic_us = each * items * up(k, 16) * clocks * (held + 1) / held / mhz[c]
    return with_memory(c, m, n, k)
}

function cpu_us(c, m, n, k,    groups, share) {
    groups = most(1, least(int(m * n * k / 327680), 2 * cores[c]))
    share = up(groups, cores[c]) / groups # of the work, on the busiest core
    arithmetic_us = 2e-3 * up(m, 8) * 8 * up(n, 32) * 32 * k * share * cores[c] / peak[c]
    return with_memory(c, m, n, k)
}

function with_memory(c, m, n, k) {
    memory_us = 4e-3 * (m * k + k * n + m * n) / (0.8 * gbps[c])
    return most(arithmetic_us, memory_us)
}

function product_us(c, m, n, k, ta, tb) {
    return peak[c] ? cpu_us(c, m, n, k) : gpu_us(c, m, n, k, ta, tb)
}

function gflops(c, n,    us) {
    us = product_us(c, n, n, n, 0, 0)
    return us < 0 ? "" : 2e-3 * n * n * n / us
}

# ---- a step of mlp512 -----------------------------------------------------------------------------

# All products: forward, weights, inputs; sets flop, sum_arithmetic, sum_memory.
function add(c, m, n, k, ta, tb,    us) {
    us = product_us(c, m, n, k, ta, tb)
    if (arithmetic_us >= memory_us) sum_arithmetic += us
    else sum_memory += us
    flop += 2 * m * n * k
    return us
}

function products_us(c, b) {
    flop = sum_arithmetic = sum_memory = 0
    return add(c, b, 512, 784, 0, 1) + add(c, b, 512, 512, 0, 1) + add(c, b, 10, 512, 0, 1) + \
        add(c, 512, 784, b, 1, 0) + add(c, 512, 512, b, 1, 0) + add(c, 10, 512, b, 1, 0) + \
        add(c, b, 512, 512, 0, 0) + add(c, b, 512, 10, 0, 0)
}

# Bytes to floats; two gradients of an activation; three of a bias; the loss; Adam.
function other_bytes(b) {
    return b * 784 * 5 + 2 * b * 512 * 12 + b * (512 + 512 + 10) * 4 + b * 10 * 12 + 669706 * 28
}

# Sets binds.
function step_us(c, b,    products, others, gaps, device, host, up_us, step) {
    products = products_us(c, b)
    others = 1e-3 * other_bytes(b) / (0.8 * gbps[c])
    gaps = launches * gap[c]
    device = products + others + gaps
    host = launches * enqueue[c] + waits * wait[c]
    up_us = link[c] > 0 ? 1e-3 * b * 788 / (0.8 * link[c]) : 0
    step = peak[c] ? device + host : most(device, most(host, up_us))
    binds = units_wait ? "local memory" : "arithmetic"
    if (sum_memory + others > sum_arithmetic) binds = "memory"
    if (most(gaps, peak[c] ? host : 0) > most(sum_arithmetic, sum_memory + others)) binds = "launches"
    if (!peak[c] && step == host) binds = "launches"
    if (!peak[c] && step == up_us) binds = "link"
    return step
}

# ---- in and out ------------------------------------------------------------------------------------

BEGIN {
    if (here != "") {
        split(here, at, " ")
        cores["here"] = at[1]
        peak["here"] = at[2]
        gbps["here"] = at[3]
        enqueue["here"] = 1.75 # PoCL 3.1 on two cores: a queued launch, and a wait
        wait["here"] = 60
        tell_here()
        exit
    }
}

FILENAME == ARGV[1] && $1 == "kernel" {
    columns = split($0, head, "|")
    for (i = 2; i <= columns; i++) gsub(/ /, "", head[i])
}
FILENAME == ARGV[1] && $1 == "gemm_gpu" {
    count = split($0, cell, "|")
    split(cell[1], word, " ")
    what = word[1] " " word[2] " " word[3] " " word[4]
    bytes[what] = word[5]
    for (i = 2; i <= count; i++) {
        split(cell[i], word, " ")
        occupancy[what, head[i]] = word[4]
    }
}
FILENAME == ARGV[1] || /^#/ || NF < 15 { next }
{
    order[++cards] = $1
    target[$1] = $2; name[$1] = $3; cores[$1] = $4; units[$1] = $5; mhz[$1] = $6; fma[$1] = $7
    local[$1] = $8; items_held[$1] = $9; room[$1] = $10; gbps[$1] = $11; link[$1] = $12
    enqueue[$1] = $13; gap[$1] = $14; wait[$1] = $15
    gsub(/_/, " ", name[$1])
}

function tell_here(    b, us) {
    printf "gemm 512 %.0f\ngemm 1024 %.0f\n", gflops("here", 512), gflops("here", 1024)
    for (b = 128; b <= 4096; b *= 32) {
        us = step_us("here", b)
        printf "train %d %.0f %s\n", b, b * 1e6 / us, binds
    }
}

# To two digits: more would claim too much.
function round(x) {
    return sprintf("%.0f", sprintf("%.1e", x))
}

function cell_of(c, b,    us) {
    us = step_us(c, b)
    return " " round(1e-3 * flop / products_us(c, b)) " | " round(b * 1e6 / us) " | " binds " |"
}

END {
    if (here != "")
        exit
    print "With our tile (MOTLEY_GEMM=tile); by default most of these cards take CLBlast, which is not reckoned."
    print ""
    print "| card | peak GFLOP/s | tile, occupancy | 512\302\263 | 1024\302\263 |" \
        " products of mlp512, batch 128 | samples/s | binds |" \
        " products, batch 4096 | samples/s | binds |"
    print "|---|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= cards; i++) {
        c = order[i]
        if (gflops(c, 1024) == "") {
            print "predict: " name[c] ": nothing was compiled for " target[c] >"/dev/stderr"
            continue
        }
        printf "| %s | %.0f | %dx%d, %d %% |", name[c], 2e-3 * cores[c] * fma[c] * mhz[c],
            4 * side, 4 * side, occupied # of the last one asked for, 1024 cubed
        printf " %s | %s |", round(gflops(c, 512)), round(gflops(c, 1024))
        print cell_of(c, 128) cell_of(c, 4096)
    }
}
