# judge.awk - reads the facts that vendors.sh gathered, prints a line with ! for each fault and then
# the table; fails if there is a fault. A line of facts: rules family id, then "failed" or
#   device kernel group registers spilled private local occupancy doubles

function fault(what) {
    print "! " what
    faults++
}

# What is wrong with this row, for a kernel that runs on GPUs.
function wrong(    text) {
    if ($8 > 0) text = text ", spills " $8
    if ($9 > 0) text = text ", has a private array of " $9 " bytes"
    if ($10 > 32768) text = text ", takes " $10 " bytes of local memory"
    if ($12 > 0) text = text ", computes in double"
    return substr(text, 3)
}

function label(    text) {
    text = $3
    sub(/^[^.]*/, "", text)
    sub(/\.CLASS_CPU[01]/, "", text)
    gsub(/\./, " ", text)
    return $5 text
}

BEGIN {
    count = split("sm_75 sm_86 sm_90 ptx gfx906 gfx1030 gfx1100 skl tgllp dg2 spirv", devices, " ")
}

$4 == "failed" {
    if ($1 != "double") # to refuse a double is right too
        fault($2 "." $3 " did not compile:")
    next
}
$1 == "ill" {
    proved[$4 " " $5] = wrong() != ""
    next
}
$1 == "double" {
    if ($12 != 1 && $4 != "tgllp" && $4 != "dg2") # these have none: it is a float there
        fault("a double went unnoticed on " $4)
    next
}
$12 > 0 && $1 != "gpu" { fault($4 ": " label() " computes in double") }
$1 == "cpu" {
    cpus++
    next
}
$1 == "gpu" && wrong() != "" { fault($4 ": " label() " " wrong()) }
{
    name = label()
    if (!(name in at)) {
        at[name] = ++rows
        names[rows] = name
        rule[rows] = $1
    }
    used[$4]++
    if ($10 + 0 > local[at[name]] + 0) local[at[name]] = $10
    cell[at[name], $4] = $4 == "spirv" ? "valid" : $7 " " $8 " " $9 " " $11
}

END {
    if (rows == 0)
        fault("no kernel was judged")
    for (key in proved) {
        split(key, part, " ")
        if (!proved[key] && part[1] != "spirv" && !(part[1] == "ptx" && part[2] == "ill_spill"))
            fault(part[2] " went unnoticed on " part[1])
    }
    print "Kernels as the GPU vendors' compilers make them; nothing here ran on a GPU. Each cell:"
    print "registers, spilled, bytes of private memory, occupancy in %; Intel: registers x SIMD."
    print "Occupancy: at the group that the kernel demands or the host gives, else 64 items; AMD as its"
    print "compiler tells it. local: bytes per group, those that come as an argument too."
    print "With a * they are for CPUs; a GPU runs them only where its own kernels compute wrongly."
    print ""
    printf "%-43s %5s", "kernel", "local"
    for (d = 1; d <= count; d++)
        if (used[devices[d]])
            printf " | %14s", devices[d]
    print ""
    for (i = 1; i <= rows; i++) {
        printf "%-43s %5s", names[i] (rule[i] == "spare" ? " *" : ""), local[i] + 0
        for (d = 1; d <= count; d++)
            if (used[devices[d]])
                printf " | %14s", cell[i, devices[d]]
        print ""
    }
    printf "\n%d kernels on %d targets; %d CPU-class kernels as SPIR-V; faults: %d\n", rows,
        length_of(used), cpus, faults
    exit faults > 0
}

function length_of(set,    key, n) {
    for (key in set)
        n += set[key] > 0
    return n + 0
}
