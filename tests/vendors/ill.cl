/* ill.cl - what no kernel of ours may do, so that vendors.sh is seen to find it: a private array
 * that no compiler can keep in registers, too much local memory, too many live values. */
kernel void ill_private(const uint n, global const uint *at, global float *y)
{
    float keep[1024];

    for (uint i = 0; i < 1024; i++)
        keep[at[i] % 1024] = y[i];
    for (uint i = 0; i < n; i++)
        y[i] += keep[at[i] % 1024];
}

kernel void ill_local(global float *y)
{
    local float all[10240];

    for (uint i = 0; i < 10; i++)
        all[get_local_id(0) * 10 + i] = y[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = all[(uint)y[get_local_id(0)] % 10240];
}

kernel void ill_spill(global float *y)
{
    float keep[300];

    y += get_global_id(0);
#pragma unroll
    for (uint i = 0; i < 300; i++)
        keep[i] = y[i * 64];
    barrier(CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < 300; i++)
        y[i * 64] = keep[i] * keep[(i * 7 + 3) % 300];
}
