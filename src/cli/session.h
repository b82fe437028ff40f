/* session.h - what train, eval and predict open alike: devices, data, network, trainer. */
#ifndef MOT_CLI_SESSION_H
#define MOT_CLI_SESSION_H

#include "cli/dataset.h"
#include "cli/options.h"

struct session {
    mot_fleet *fleet;
    mot_model *net;
    struct dataset data;
    mot_trainer *trainer;
    size_t batch; /* samples of one step: as told, or found where that is "auto" */
};

/* With the weights of options->weights where there are any. 0, or an exit code after the sentence;
 * close it either way. */
int session_open(const struct options *options, bool train, struct session *out);
void session_close(struct session *session);

/* The network of that text behind an input of the data's shape; close *out either way. */
mot_status session_open_net(const char *text, struct mot_shape shape, mot_model **out);
/* The configurations that the options ask for. */
struct mot_fleet_config session_fleet_config(const struct options *options);
struct mot_trainer_config session_trainer_config(const struct options *options);
/* Does options->net, a preset written out, end in softmax? Its outputs are probabilities then. */
bool session_ends_in_softmax(const struct options *options);

#endif
