/* build.h - inside the room: what the builder and the text language share. */
#ifndef MOT_MODEL_BUILD_H
#define MOT_MODEL_BUILD_H

#include "model/model.h"

void mot__model_swap(mot_model *a, mot_model *b);
const char *mot__preset_text(const char *name); /* NULL: there is none of that name */

#endif
