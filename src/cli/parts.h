/* parts.h - a breakdown as rows of a table: the parts' names, their values, and what to print so
 * that a line adds up to 100.0 %. */
#ifndef MOT_CLI_PARTS_H
#define MOT_CLI_PARTS_H

#include <motley/bench.h>

#define PARTS 8

extern const char *const part_name[PARTS];
double part_value(const struct mot_breakdown *breakdown, size_t part);
/* Percent with one decimal place, rounded so that they sum to 100.0. */
void parts_percent(const struct mot_breakdown *breakdown, double percent[PARTS]);

#endif
