/* shares.c - largest remainder: whole rows in proportion, what is left over to those who lost most
 * by rounding. */
#include "strategy/shares.h"

#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static mot_status parse_weights(const char *text, size_t lanes, double *weight)
{
    const char *at = text, *end;
    char word[32];
    double sum = 0;
    size_t count = 0, length;

    for (;;) {
        end = strchr(at, ',');
        length = end ? (size_t)(end - at) : strlen(at);
        if (length == 0 || length >= sizeof word)
            goto bad;
        memcpy(word, at, length);
        word[length] = '\0';
        if (count == lanes)
            return mot__fail(MOT_BAD_ARG, "shares \"%s\": more than the %zu replica%s", text, lanes,
                             lanes == 1 ? " there is" : "s there are");
        if (!mot__text_f64(word, &weight[count]) || !isfinite(weight[count]) || weight[count] < 0)
            goto bad;
        sum += weight[count++];
        if (!end)
            break;
        at = end + 1;
    }
    if (count < lanes)
        return mot__fail(MOT_BAD_ARG, "shares \"%s\": %zu for %zu replica%s", text, count, lanes,
                         lanes == 1 ? "" : "s");
    if (!(sum > 0))
        return mot__fail(MOT_BAD_ARG, "shares \"%s\": they sum to 0", text);
    if (!isfinite(sum * (double)SIZE_MAX)) /* rows times a weight must be a number */
        return mot__fail(MOT_BAD_ARG, "shares \"%s\": they are too large", text);
    return MOT_OK;
bad:
    return mot__fail(MOT_BAD_ARG,
                     "shares \"%s\", character %zu: expected auto, even or numbers like 3,1", text,
                     (size_t)(at - text) + 1);
}

mot_status mot__shares_parse(const char *text, size_t lanes, enum mot__shares_kind *kind,
                             double *weight)
{
    size_t i;

    *kind = MOT__SHARES_AUTO;
    if (!text || !text[0] || mot__text_same(text, "auto"))
        return MOT_OK;
    *kind = MOT__SHARES_EVEN;
    for (i = 0; i < lanes; i++)
        weight[i] = 1;
    if (mot__text_same(text, "even"))
        return MOT_OK;
    *kind = MOT__SHARES_FIXED;
    return parse_weights(text, lanes, weight);
}

void mot__shares_split(size_t rows, const double *weight, size_t lanes, size_t *share)
{
    double sum = 0, want, best;
    size_t i, given = 0, most;

    for (i = 0; i < lanes; i++)
        sum += weight[i];
    for (i = 0; i < lanes; i++) {
        share[i] = (size_t)floor((double)rows * weight[i] / sum);
        given += share[i];
    }
    while (given > rows) /* rounding of the products, at most a row or two */
        for (i = lanes; i-- > 0 && given > rows;)
            if (share[i] > 0)
                share[i]--, given--;
    for (; given < rows; given++) {
        most = 0;
        best = -INFINITY;
        for (i = 0; i < lanes; i++) {
            want = (double)rows * weight[i] / sum - (double)share[i];
            if (weight[i] > 0 && want > best + 1e-9)
                best = want, most = i;
        }
        share[most]++;
    }
}

void mot__shares_most(size_t rows, const double *weight, size_t lanes, size_t *most)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < lanes; i++)
        sum += weight[i];
    for (i = 0; i < lanes; i++) /* largest remainder never gives more than the due, rounded up */
        most[i] = (size_t)ceil((double)rows * weight[i] / sum - 1e-9);
}
