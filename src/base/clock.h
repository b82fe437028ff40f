/* clock.h - seconds that only go forward. */
#ifndef MOT_BASE_CLOCK_H
#define MOT_BASE_CLOCK_H

double mot__clock_s(void); /* monotonic */

#endif
