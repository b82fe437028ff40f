/* digits.c - digits drawn by the program, for machines that have no data: strokes, bent, slanted,
 * turned and shifted, with noise. Sample i depends on (seed, i) alone, never on the count. */
#include "data/store.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define CLASSES 10
#define STROKES_MAX 4
#define LINE_PIECES 5  /* a line is bent too */
#define ARC_PIECE 24.0 /* degrees */
#define DRAWS 256      /* random words kept for one sample: first its parameters, then its noise */
#define NOISE_FROM 32

/* A piece of an ellipse, or, where turn is 0, a line. In a box of 1 x 1, x to the right, y down. */
struct stroke {
    double x, y;       /* centre, or where the line begins */
    double rx, ry;     /* radii, or where the line ends */
    double from, turn; /* degrees, clockwise from the right */
    double chance;     /* that it is drawn; some hands leave it out */
};

static const struct stroke strokes[CLASSES][STROKES_MAX] = {
    {{.5, .5, .30, .46, -90, 360, 1}},
    {{.55, .04, .55, .96, 0, 0, 1}, {.36, .22, .55, .04, 0, 0, .7}, {.36, .96, .74, .96, 0, 0, .3}},
    {{.49, .29, .28, .24, 185, 210, 1}, {.73, .41, .2, .95, 0, 0, 1}, {.2, .95, .84, .95, 0, 0, 1}},
    {{.46, .27, .27, .22, 200, 250, 1}, {.46, .72, .31, .23, -90, 245, 1}},
    {{.60, .05, .14, .64, 0, 0, 1}, {.14, .64, .9, .64, 0, 0, 1}, {.64, .05, .64, .96, 0, 0, 1}},
    {{.8, .05, .3, .05, 0, 0, 1}, {.3, .05, .26, .45, 0, 0, 1}, {.47, .67, .31, .28, 225, 280, 1}},
    {{.84, .70, .60, .66, 180, 75, 1}, {.51, .71, .27, .24, 0, 360, 1}},
    {{.18, .06, .84, .06, 0, 0, 1}, {.84, .06, .42, .96, 0, 0, 1}, {.4, .52, .8, .52, 0, 0, .4}},
    {{.5, .26, .23, .21, 0, 360, 1}, {.5, .71, .29, .24, 0, 360, 1}},
    {{.49, .29, .26, .24, 0, 360, 1}, {.16, .30, .60, .66, 0, 75, 1}},
};

struct pen {              /* one sample's hand */
    uint64_t seed, first; /* of its random words */
    double bend_x, bend_y, phase_x, phase_y;
    double wide, high, slant, cosine, sine, shift_x, shift_y;
    double radius, ink;
};

static double draw(const struct pen *pen, unsigned which, double low, double high)
{
    const uint64_t stream = (uint64_t)MOT__STREAM_DIGITS << 32;

    return low + (high - low) * (double)mot__rng_unit(pen->seed, stream, pen->first + which);
}

static void pen_init(struct pen *pen, uint64_t seed, uint64_t sample)
{
    double angle;

    pen->seed = seed;
    pen->first = sample * DRAWS;
    angle = draw(pen, 0, -0.30, 0.30);
    pen->cosine = cos(angle);
    pen->sine = sin(angle);
    pen->bend_x = draw(pen, 1, -0.07, 0.07);
    pen->bend_y = draw(pen, 2, -0.05, 0.05);
    pen->phase_x = draw(pen, 3, 0, 6.283);
    pen->phase_y = draw(pen, 4, 0, 6.283);
    pen->wide = draw(pen, 5, 13, 21);
    pen->high = draw(pen, 6, 16, 22);
    pen->slant = draw(pen, 7, -0.25, 0.35);
    pen->shift_x = draw(pen, 8, -2.5, 2.5);
    pen->shift_y = draw(pen, 9, -2.5, 2.5);
    pen->radius = draw(pen, 10, 0.6, 1.7);
    pen->ink = draw(pen, 11, 0.6, 1.0);
}

/* From the box of 1 x 1 to pixels. */
static void place(const struct pen *pen, double x, double y, double out[2])
{
    const double u = x - .5 + pen->bend_x * sin(5 * y + pen->phase_x);
    const double v = y - .5 + pen->bend_y * sin(5 * x + pen->phase_y);
    const double px = pen->wide * u - pen->slant * pen->high * v, py = pen->high * v;

    out[0] = SIDE / 2.0 + pen->shift_x + pen->cosine * px - pen->sine * py;
    out[1] = SIDE / 2.0 + pen->shift_y + pen->sine * px + pen->cosine * py;
}

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Ink by the distance of each pixel's centre from the piece a-b; what is there stays if darker. */
static void ink_piece(const struct pen *pen, const double a[2], const double b[2],
                      float image[PIXELS])
{
    const double reach = pen->radius + .5, dx = b[0] - a[0], dy = b[1] - a[1];
    const double square = dx * dx + dy * dy, scale = square > 0 ? 1 / square : 0;
    const int left = (int)clamp(fmin(a[0], b[0]) - reach, 0, SIDE);
    const int right = (int)clamp(fmax(a[0], b[0]) + reach + 1, 0, SIDE);
    const int top = (int)clamp(fmin(a[1], b[1]) - reach, 0, SIDE);
    const int bottom = (int)clamp(fmax(a[1], b[1]) + reach + 1, 0, SIDE);

    for (int y = top; y < bottom; y++) {
        for (int x = left; x < right; x++) {
            const double px = x + .5 - a[0], py = y + .5 - a[1];
            const double along = clamp((px * dx + py * dy) * scale, 0, 1);
            const double ex = px - along * dx, ey = py - along * dy;
            const double far = ex * ex + ey * ey;
            const double cover = far < reach * reach ? clamp(reach - sqrt(far), 0, 1) : 0;

            if ((float)cover > image[y * SIDE + x])
                image[y * SIDE + x] = (float)cover;
        }
    }
}

static void ink_stroke(const struct pen *pen, const struct stroke *stroke, float image[PIXELS])
{
    const double degree = 3.14159265358979323846 / 180;
    const int pieces = stroke->turn == 0 ? LINE_PIECES : (int)ceil(stroke->turn / ARC_PIECE);
    double a[2], b[2];

    for (int i = 0; i <= pieces; i++) {
        const double t = (double)i / pieces;
        const double angle = (stroke->from + stroke->turn * t) * degree;

        if (stroke->turn == 0)
            place(pen, stroke->x + (stroke->rx - stroke->x) * t,
                  stroke->y + (stroke->ry - stroke->y) * t, b);
        else
            place(pen, stroke->x + stroke->rx * cos(angle), stroke->y + stroke->ry * sin(angle), b);
        if (i > 0)
            ink_piece(pen, a, b, image);
        memcpy(a, b, sizeof a);
    }
}

/* Some paper is dirty: a stray mark that belongs to no digit. */
static void ink_stray(const struct pen *pen, float image[PIXELS])
{
    const double x = draw(pen, 16, 0, 1), y = draw(pen, 17, 0, 1);
    const struct stroke mark = {
        .x = x, .y = y, .rx = x + draw(pen, 18, -.25, .25), .ry = y + draw(pen, 19, -.25, .25)};

    if (draw(pen, 20, 0, 1) < 0.25)
        ink_stroke(pen, &mark, image);
}

/* One random byte for each pixel. */
static void finish(const struct pen *pen, const float image[PIXELS], unsigned char out[PIXELS])
{
    const uint64_t stream = (uint64_t)MOT__STREAM_DIGITS << 32;
    const double noise = draw(pen, 21, 0, 0.25);

    for (unsigned i = 0; i < PIXELS; i += 4) {
        const uint32_t word = mot__rng_u32(pen->seed, stream, pen->first + NOISE_FROM + i / 4);

        for (unsigned j = 0; j < 4; j++) {
            const double grain = (double)(word >> 8 * j & 255) / 127.5 - 1;
            const double value = pen->ink * (double)image[i + j] + noise * grain;

            out[i + j] = (unsigned char)(clamp(value, 0, 1) * 255 + .5);
        }
    }
}

static void draw_digit(uint64_t seed, uint64_t sample, unsigned digit, unsigned char out[PIXELS])
{
    float image[PIXELS] = {0};
    struct pen pen;

    pen_init(&pen, seed, sample);
    for (unsigned i = 0; i < STROKES_MAX; i++)
        if (draw(&pen, 12 + i, 0, 1) < strokes[digit][i].chance)
            ink_stroke(&pen, &strokes[digit][i], image);
    ink_stray(&pen, image);
    finish(&pen, image, out);
}

mot_status mot_data_digits(uint64_t seed, size_t count, mot_data **out)
{
    mot_status status = MOT_OK;
    struct mot__samples like = {.count = count,
                                .shape = {.rank = 3, .dim = {1, SIDE, SIDE}},
                                .dtype = MOT_DTYPE_U8,
                                .classes = CLASSES};
    struct mot__store *store = NULL;

    if (!out)
        return mot__fail(MOT_BAD_ARG, "mot_data_digits: NULL argument");
    MOT_TRY(mot__samples_check("mot_data_digits", &like));
    MOT_TRY(mot__store_open_own(&like, &store));
    for (size_t i = 0; i < count; i++) {
        store->labels[i] = (uint32_t)(i % CLASSES);
        draw_digit(seed, i, store->labels[i], (unsigned char *)store->x + i * PIXELS);
    }
    MOT_TRY(mot__data_of(store, out));
done:
    return status;
}
