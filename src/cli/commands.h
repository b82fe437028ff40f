/* commands.h - what `motley` can do; each returns an exit code and has printed its sentence. */
#ifndef MOT_CLI_COMMANDS_H
#define MOT_CLI_COMMANDS_H

#include "cli/options.h"

int command_devices(const struct options *options);
int command_doctor(const struct options *options);
int command_train(const struct options *options);
int command_eval(const struct options *options);
int command_predict(const struct options *options);
int command_bench(const struct options *options);
int command_tune(const struct options *options);
int command_help(const struct options *options);
int command_version(const struct options *options);

#endif
