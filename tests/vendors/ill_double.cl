/* ill_double.cl - an accidental double: a constant without its f. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void ill_double(global float *y)
{
    y[get_global_id(0)] = (float)(y[get_global_id(0)] * 0.1);
}
