/* replica.h - one copy of the network on one lane: variables, plans, feed. Everything here runs on
 * the lane's own thread. */
#ifndef MOT_STRATEGY_REPLICA_H
#define MOT_STRATEGY_REPLICA_H

#include "collective/collective.h"
#include "feed/feed.h"
#include "model/plan.h"
#include "optim/optim.h"
#include "strategy/balance.h"
#include "strategy/lane.h"
#include "strategy/notes.h"
#include "strategy/variables.h"

#include <stdatomic.h>

#define MOT__AHEAD 8 /* steps queued before the oldest must have ended */

struct mot__agree;  /* verify.h */
struct mot__verify; /* verify.h: a lane's side */
struct mot__sent;   /* sent.h */

/* What all replicas of one trainer share. The engine alone changes it, while all lanes are idle:
 * group and strategy when other replicas work together from then on; the rest stands when they
 * open. What the pointers lead to says for itself who may. */
struct mot__common {
    mot_model *net; /* a copy of our own */
    struct mot_trainer_config config;
    size_t replicas;
    mot__group *group; /* NULL with one replica */
    struct mot__range *bucket;
    size_t buckets;
    size_t piece_floats;
    struct mot__range *piece; /* (pieces): how the gradients, record and all, are cut by that */
    size_t pieces;
    struct mot__range *part; /* (parts): what takes turns in windows, last layer first */
    size_t parts;
    const struct mot__strategy *strategy;
    struct mot__notes *notes;  /* any replica may add */
    atomic_bool *halted;       /* set: a step was refused, and nothing is applied after it */
    mot__balance *balance;     /* NULL: the shares are fixed */
    mot__variables *variables; /* central storage; else NULL */
    struct mot__agree *agree;  /* whether the replicas do */
};

#define MOT__NO_SEAT SIZE_MAX

/* The rows of the last update, for when its numbers are not finite: from its first step until the
 * next update's. */
#define MOT__HELD_MOST 16
struct mot__held {
    struct mot__held_rows {
        mot_batch *batch;
        size_t begin, rows, before;
        uint64_t number;
    } step[MOT__HELD_MOST];
    size_t steps;
    bool more; /* steps than are held */
    bool loop; /* of the user's own: what it does with the outputs is not known */
};

struct mot_replica {
    const struct mot__common *common;
    size_t rank;
    size_t seat; /* among those that work together; MOT__NO_SEAT: left out */
    mot__lane *lane;
    mot__device *device;
    mot__flat *parameters, *gradients, *slot[2];
    size_t windows; /* of parameters and of gradients; 0: all are on the device */
    bool whole;     /* with central storage: there is room for all variables and their state */
    mot__buffer *verdict, *partials, *tally; /* tally: the record of an evaluation */
    mot__plan *train, *infer;
    mot__feed *train_feed, *infer_feed;
    size_t target_width[2], made_rows[2]; /* the plans were made for: inference, training */
    double lr;
    size_t ready;             /* buckets told ready in this step, where they wait for the last */
    enum mot__phase phase;    /* what the launches of the running list count for */
    bool dirty;               /* gradients hold something */
    bool forwarded;           /* the shard's outputs are there, for one backward pass */
    mot_status told;          /* the first failure that a call of the user's function met */
    struct mot__story failed; /* the first job that did; the variables may disagree with others' */
    struct mot__step step;    /* of the shard that is loaded */
    uint64_t mark[MOT__AHEAD], steps;
    double reduce_s;         /* on the host, adding and waiting for others */
    struct {                 /* forward passes in training, and what mot__job_spent told of them */
        size_t rows, passes; /* since it was asked last */
        bool cut;            /* a step had more rows than the plan has at once */
        size_t told_rows, told_passes;
        double told_s; /* with their backward passes, by the device's clock */
    } passed;
    struct mot__verify *verify; /* NULL with one replica */
    struct mot__sent *sent;     /* the host updates for this lane; NULL: it does so itself */
    struct mot__held held;
    bool odd_sent;      /* the record on the device has ODD set */
    bool looked;        /* into a refused step since the metrics were read */
    uint64_t read_at;   /* the next step's number when they were */
    char trouble[320];  /* the last refused step's sentence */
    struct {            /* how long the steps took that the next update ends */
        double began_s; /* the job that runs */
        double ran_s;   /* those before it, from the first step's on */
        double own_s;   /* all of it until their gradients were on the host; 0: not measured */
        size_t rows, steps;
    } timed;
};

/* How gradients become equal and are applied. */
struct mot__strategy {
    const char *name;
    bool staged;  /* gradients have a host side: the lanes are a group */
    bool central; /* so have parameters, and come bucket by bucket; state is on the host */
    /* What all lanes share, once before they open; may be NULL. start: the flat parameters. */
    mot_status (*share)(struct mot__common *common, const float *start);
    /* What a lane has beside parameters and gradients: optimizer state, verdict. */
    mot_status (*open)(mot_replica *replica);
    /* Fill the update list of a training plan. */
    mot_status (*plan)(mot_replica *replica, mot__plan *plan);
    /* The gradients of a bucket are final (plan.h). */
    mot_status (*ready)(mot_replica *replica, size_t bucket);
    /* The launches that follow read the parameters of a bucket (plan.h); central alone. */
    mot_status (*need)(mot_replica *replica, size_t bucket);
    /* They write its gradients (plan.h); streamed alone, whose buckets are the replica's parts and
     * are told ready after each backward pass. */
    mot_status (*fill)(mot_replica *replica, size_t bucket);
    /* Reduce what was made ready; the update list follows. */
    mot_status (*reduce)(mot_replica *replica);
    /* Read the running metrics and clear them. */
    mot_status (*metrics)(mot_replica *replica, float verdict[MOT__VERDICT_FLOATS]);
    /* Flat parameters [offset, offset + count); every lane is asked to write. */
    mot_status (*read)(mot_replica *replica, size_t offset, float *out, size_t count);
    mot_status (*write)(mot_replica *replica, size_t offset, const float *value, size_t count);
};
extern const struct mot__strategy mot__strategy_single, mot__strategy_mirrored,
    mot__strategy_central;
/* Central storage's side of a lane that has no room for all weights: they come in windows. */
extern const struct mot__strategy mot__strategy_streamed;

static inline const struct mot__strategy *mot__strategy_of(const mot_replica *replica)
{
    return replica->windows ? &mot__strategy_streamed : replica->common->strategy;
}

/* own.c: the rows of that table where each lane has all variables, state and verdict. */
mot_status mot__own_open(mot_replica *replica);
mot_status mot__own_plan(mot_replica *replica, mot__plan *plan);
mot_status mot__own_metrics(mot_replica *replica, float verdict[MOT__VERDICT_FLOATS]);
mot_status mot__own_read(mot_replica *replica, size_t offset, float *out, size_t count);
mot_status mot__own_write(mot_replica *replica, size_t offset, const float *value, size_t count);

/* central.c: the rows that serve a lane with windows, too, and the end of a step's reduction. */
struct mot__finding; /* suspect.h */
mot_status mot__central_open(mot_replica *replica);
mot_status mot__central_plan(mot_replica *replica, mot__plan *plan);
mot_status mot__central_commit(mot_replica *replica, struct mot__finding *finding, bool *given);
mot_status mot__central_metrics(mot_replica *replica, float verdict[MOT__VERDICT_FLOATS]);

/* streamed.c: the parameters and gradients of a lane with windows. */
mot_status mot__streamed_open(mot_replica *replica);
size_t mot__streamed_bytes(const mot_replica *replica, size_t windows); /* what they would take */

/* staged.c: gradients on their way to the host. */
struct mot__part {       /* of a bucket, in one piece */
    size_t begin, count; /* floats inside the piece */
};
struct mot__part mot__staged_part(const mot_replica *replica, const struct mot__piece *piece,
                                  size_t bucket);
mot_status mot__staged_ready(mot_replica *replica, size_t bucket);
/* Where this step is timed: wait until all are here, so that the lane's own time is known. */
mot_status mot__staged_time(mot_replica *replica);

/* Where the time of one replica went, in seconds since the last call. */
struct mot__spent {
    struct mot__phases device; /* by the device's clock */
    double reduce_s;           /* adding on the host */
    double copied_s;           /* between the host's copy and windows */
    double waited_s;           /* for the other replicas */
    double starved_s;          /* with nothing to do */
    bool seated;               /* it takes part */
    bool hosted, streams;      /* central storage; and not all of it fits the device */
    bool whole;                /* with central storage: alone the device would hold it all */
    bool cut;                  /* nor do all rows of its share at once */
};

/* Of the passes between the last two calls that asked for the above: so many times the rows take
 * near + (1 - near) * times of their time up to MOT__NEAR times; far is for MOT__FAR times. All 0
 * without profiling. */
#define MOT__NEAR 2
#define MOT__FAR 8
struct mot__steady {
    double near, far;
    double cold;   /* what the same passes alone, one after the other, do not take */
    double upload; /* as near, of the upload */
};

/* Work from here on in that seat, or in none. Who was away goes on with what `like`, who was not,
 * knows of the steps since; both lanes idle, the variables sent before. */
void mot__replica_reseat(mot_replica *replica, size_t seat, const mot_replica *like);

size_t mot__replica_buckets(const mot_replica *replica); /* of its plans: common's, or its parts */
mot_status mot__replica_open(mot_replica *replica,
                             const float *start); /* start: the flat parameters */
void mot__replica_close(mot_replica *replica);
struct mot__mem mot__replica_record(const mot_replica *replica); /* of the step, on the device */
mot_status mot__replica_load(mot_replica *replica, const mot_batch *batch, size_t begin,
                             size_t rows, uint64_t number);
/* What a plan asks for where gradients stay for now (mot__exchange_fn; user: the replica). */
mot_status mot__replica_needs(void *user, enum mot__entry_kind kind, size_t bucket);
mot_status mot__replica_ready(mot_replica *replica, size_t bucket); /* its gradients may leave */
mot_status mot__replica_forward(mot_replica *replica);
mot_status mot__replica_backward(mot_replica *replica, float scale, bool given, bool ready);
mot_status mot__replica_commit(mot_replica *replica); /* all-reduce, verdict, update */
/* Is this update's time wanted? Then a strategy waits for all gradients before it reduces the
 * first, and says when they are there. */
bool mot__replica_timed(const mot_replica *replica);
void mot__replica_computed(mot_replica *replica);
void mot__replica_begins(mot_replica *replica, size_t rows); /* a step of so many rows */
void mot__replica_pauses(mot_replica *replica);  /* its job ends; the update comes with another */
void mot__replica_resumes(mot_replica *replica); /* that one begins */

mot_status mot__replica_tally_begin(mot_replica *replica);
mot_status mot__replica_tally(mot_replica *replica, const mot_batch *batch, size_t begin,
                              size_t rows);
mot_status mot__replica_tally_end(mot_replica *replica,
                                  float record[MOT__RECORD_FLOATS]); /* reads */
mot_status mot__replica_predict(mot_replica *replica, const mot_batch *batch, size_t begin,
                                size_t rows, float *out);

#endif
