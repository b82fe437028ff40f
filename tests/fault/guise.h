/* guise.h - what the files of the layer `guise` share. The layer makes the devices at hand look and
 * behave like others:
 *
 *   MOTLEY_GUISE=rx7900,uhd620    the cards that the devices, in the loader's order, pretend to be
 *     (cards.c); "-" leaves one as it is; "rx7900@rusticl": that card behind Mesa's platform. What
 * a card says of itself it enforces. MOTLEY_GUISE=cards|host|sick    the plays of guise.c, for
 * test_inventory MOTLEY_ILL_WILL=nan,slow=1:3    how they behave (manners.c); a value may differ by
 * device
 *
 * A name that is not known, or a card without a device, ends the process.
 */
#ifndef MOT_TESTS_GUISE_H
#define MOT_TESTS_GUISE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum pci_way { PCI_KHR, PCI_AMD, PCI_NVIDIA }; /* by which query the address is told */

/* A card as its vendor's driver describes it. */
struct card {
    const char *key; /* in MOTLEY_GUISE */
    const char *name, *board, *vendor, *driver, *version, *c_version, *extensions;
    const char *platform, *platform_version;
    cl_uint vendor_id, units, clock_mhz, align_bits, width;
    size_t group, items[3], wave; /* largest group, per dimension; lanes in step */
    cl_ulong memory, largest, local;
    cl_bool unified;
    enum pci_way way;
    cl_uint bus, slot;
};

/* A platform that is not there; the loader may look at the first word of a handle. */
struct stage_platform {
    const cl_icd_dispatch *dispatch;
    char name[64];
    const struct card *card; /* the first one it shows */
    cl_platform_id real;
};

struct disguised {
    cl_device_id id;
    cl_platform_id real;
    size_t nth;
    const struct card *card; /* NULL: as it is */
    struct stage_platform *platform;
    cl_uint bus;
    char driver[128]; /* the card's, and what changes the bits of results: caches must know */
    atomic_size_t live;
};

extern const cl_icd_dispatch *guise_below;
extern cl_icd_dispatch guise_ours;

/* The device, its context's or its queue's only device; never NULL for a valid handle. */
struct disguised *guise_of_device(cl_device_id device);
struct disguised *guise_of_context(cl_context context);
struct disguised *guise_of_queue(cl_command_queue queue);

/* What $MOTLEY_ILL_WILL says under that name for a device: its number, 1 where it gives none, 0
 * where it is not there. */
double ill_will(const char *name, size_t nth);

/* Whether $MOTLEY_GUISE names one of the plays of guise.c, and no cards. */
bool guise_play(void);

/* Put the hooks of one file into the table. */
void cards_hook(cl_icd_dispatch *table);
void manners_hook(cl_icd_dispatch *table);
void harm_hook(cl_icd_dispatch *table);

/* The text with division and transcendental functions one unit in the last place off; malloced. */
char *ulp_rewrite(const char *text);

/* Answer a query in OpenCL's way. */
cl_int guise_answer(const void *from, size_t from_bytes, size_t bytes, void *value,
                    size_t *bytes_ret);

#endif
