/* launch.c - norm, verdict and update as launches of cl/update.cl. */
#include "optim/numbers.h"

/* Floats of one item, and parts of one item of the norm. */
struct grid {
    size_t floats, parts, local;
};

static struct grid grid_of(mot__device *device)
{
    static const struct grid cpu = {MOT__WIDTH_CPU * MOT__SPAN_CPU,
                                    MOT__WIDTH_CPU * MOT__NORM_RUN_CPU, 1},
                             gpu = {MOT__WIDTH_GPU, MOT__WIDTH_GPU, 0};

    return mot__device_facts(device)->device_class == MOT_CLASS_CPU ? cpu : gpu;
}

static mot_status launch(mot__device *device, const char *kernel, size_t items, size_t local,
                         const struct mot__arg *args, size_t count)
{
    const struct mot__launch what = {.program = "update",
                                     .kernel = kernel,
                                     .dims = 1,
                                     .global = {items},
                                     .local = {local},
                                     .args = args,
                                     .count = count};

    return mot__launch(device, &what);
}

static mot_status check_piece(const char *who, const struct mot__update *piece)
{
    const size_t at =
        piece->p.offset | piece->g.offset | piece->slot[0].offset | piece->slot[1].offset;

    if (piece->n % 16 != 0 || at % 16 != 0 || piece->n > UINT32_MAX / 2)
        return mot__fail(MOT_BAD_ARG,
                         "%s: a piece of %zu floats; sizes and offsets are multiples of 16", who,
                         piece->n);
    return MOT_OK;
}

mot_status mot__norm_launch(mot__device *device, const struct mot__update *piece, size_t pieces,
                            struct mot__mem partials)
{
    const struct grid grid = grid_of(device);
    mot_status status = MOT_OK;
    size_t i, start = 0, stride;

    for (i = 0; i < pieces; ++i) {
        const struct mot__arg args[] = {MOT__U32(piece[i].n), MOT__U32(start % MOT__NORM_PARTS),
                                        MOT__U32(i == 0), MOT__MEM(piece[i].g), MOT__MEM(partials)};

        MOT_TRY(check_piece("norm", &piece[i]));
        MOT_TRY(launch(device, "norm", MOT__NORM_PARTS / grid.parts, grid.local, args,
                       MOT__COUNT(args)));
        start += piece[i].n;
    }
    for (stride = MOT__NORM_PARTS / 16; stride >= MOT__NORM_FOLDED; stride /= 16) {
        const struct mot__arg args[] = {MOT__U32(stride), MOT__MEM(partials)};

        MOT_TRY(launch(device, "norm_fold", stride, 0, args, MOT__COUNT(args)));
    }
done:
    return status;
}

mot_status mot__verdict_launch(mot__device *device, const struct mot_optimizer *optimizer,
                               double lr, struct mot__mem record, struct mot__mem partials,
                               struct mot__mem verdict)
{
    const struct mot__numbers with = mot__numbers_of(optimizer, lr);
    /* Without clipping the kernel does not read the parts, but every argument must be a buffer. */
    const struct mot__mem parts = partials.buffer ? partials : record;
    const struct mot__arg args[] = {
        MOT__F32(with.lr),    MOT__F32(with.clip),  MOT__F32(with.beta1),
        MOT__F32(with.gain1), MOT__F32(with.beta2), MOT__F32(with.gain2),
        MOT__MEM(record),     MOT__MEM(parts),      MOT__MEM(verdict)};

    if (with.clip > 0 && !partials.buffer)
        return mot__fail(MOT_BAD_ARG, "verdict: clipping needs the norm's parts");
    return launch(device, "verdict", 1, 1, args, MOT__COUNT(args));
}

static mot_status launch_sgd(mot__device *device, const struct mot__numbers *with,
                             const struct mot__update *piece, size_t items, size_t local)
{
    const struct mot__arg args[] = {MOT__U32(piece->n),    MOT__F32(with->lr),
                                    MOT__F32(with->decay), MOT__MEM(piece->verdict),
                                    MOT__MEM(piece->g),    MOT__MEM(piece->p)};

    return launch(device, "update_sgd", items, local, args, MOT__COUNT(args));
}

static mot_status launch_momentum(mot__device *device, const struct mot__numbers *with,
                                  bool nesterov, const struct mot__update *piece, size_t items,
                                  size_t local)
{
    const struct mot__arg args[] = {
        MOT__U32(piece->n),       MOT__F32(with->lr), MOT__F32(with->decay),
        MOT__F32(with->momentum), MOT__U32(nesterov), MOT__MEM(piece->verdict),
        MOT__MEM(piece->g),       MOT__MEM(piece->p), MOT__MEM(piece->slot[0])};

    return launch(device, "update_momentum", items, local, args, MOT__COUNT(args));
}

static mot_status launch_adam(mot__device *device, const struct mot__numbers *with,
                              const struct mot__update *piece, size_t items, size_t local)
{
    const struct mot__arg args[] = {
        MOT__U32(piece->n),      MOT__F32(with->beta1), MOT__F32(with->gain1),
        MOT__F32(with->beta2),   MOT__F32(with->gain2), MOT__F32(with->epsilon),
        MOT__F32(with->decay),   MOT__U32(with->how),   MOT__MEM(piece->verdict),
        MOT__MEM(piece->g),      MOT__MEM(piece->p),    MOT__MEM(piece->slot[0]),
        MOT__MEM(piece->slot[1])};

    return launch(device, "update_adam", items, local, args, MOT__COUNT(args));
}

mot_status mot__update_launch(mot__device *device, const struct mot_optimizer *optimizer, double lr,
                              const struct mot__update *piece)
{
    const struct mot__numbers with = mot__numbers_of(optimizer, lr);
    const struct grid grid = grid_of(device);
    const size_t items = (piece->n + grid.floats - 1) / grid.floats;
    mot_status status = MOT_OK;

    MOT_TRY(check_piece("update", piece));
    if (items == 0)
        return MOT_OK;
    if (optimizer->rule != MOT_RULE_SGD)
        MOT_TRY(launch_adam(device, &with, piece, items, grid.local));
    else if (mot__optim_slots(optimizer) == 0)
        MOT_TRY(launch_sgd(device, &with, piece, items, grid.local));
    else
        MOT_TRY(launch_momentum(device, &with, optimizer->nesterov, piece, items, grid.local));
done:
    return status;
}
