/* environment.c - the variables of the environment that this library reads: one list for the
 * command's help and for reports. Those of others, and of the command alone, are not in it. */
#include <motley/motley.h>

static const struct {
    const char *name, *text;
} variables[] = {
    {"MOTLEY_DEVICES", "the devices where none are asked for"},
    {"MOTLEY_CLASS", "cpu or gpu: which kernels to use, whatever the device is"},
    {"MOTLEY_GEMM", "clblast or tile: which matrix product to use"},
    {"MOTLEY_STAGING", "map or copy: how bytes go to a device and back"},
    {"MOTLEY_LARGEST", "4G: the largest allocation, where a driver promises more than it holds"},
    {"MOTLEY_PROFILE", "1: devices tell how long each command took"},
};

const char *mot_environment(size_t index, const char **text)
{
    if (index >= sizeof variables / sizeof *variables)
        return NULL;
    if (text)
        *text = variables[index].text;
    return variables[index].name;
}
