/* fetch.c - libcurl with short timeouts, a temporary file, SHA-256, rename. */
#include "cli/fetch.h"

#include "cli/interrupt.h"
#include "cli/say.h"

#include <motley/motley.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, TEMPORARY_AGE_S = 24 * 60 * 60 };
#define TEMPORARY ".fetch-"

#if MOTLEY_CURL
#include <curl/curl.h>

enum { CONNECT_S = 5, STALL_S = 10, STALL_BYTES_PER_S = 1000, WHOLE_S = 300 };
#define LARGEST ((curl_off_t)64 << 20) /* MNIST's largest file has 10 MB */

bool fetch_possible(void)
{
    return true;
}

static size_t on_data(char *data, size_t size, size_t count, void *user)
{
    return fwrite(data, size, count, user) * size;
}

static int on_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up)
{
    (void)user, (void)total, (void)up_total, (void)up;
    return now > LARGEST || interrupt_seen();
}

/* Only what a mirror needs: a redirect must not reach files of this machine. */
static void set_protocols(CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http,file");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https,http");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS | CURLPROTO_HTTP | CURLPROTO_FILE);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTPS | CURLPROTO_HTTP);
#endif
}

static bool get(const char *url, FILE *out, char reason[FETCH_REASON])
{
    char story[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    CURLcode result = CURLE_FAILED_INIT;

    if (curl) {
        set_protocols(curl);
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
        curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
        curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_S);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)WHOLE_S);
        curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, LARGEST);
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, story);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        result = curl_easy_perform(curl);
        curl_easy_cleanup(curl);
    }
    if (result != CURLE_OK)
        say_into(reason, FETCH_REASON, "%s", *story ? story : curl_easy_strerror(result));
    return result == CURLE_OK;
}
#else
bool fetch_possible(void)
{
    return false;
}

static bool get(const char *url, FILE *out, char reason[FETCH_REASON])
{
    (void)url, (void)out;
    say_into(reason, FETCH_REASON, "this build has no libcurl");
    return false;
}
#endif

static bool is_right(const char *path, const struct fetch_file *file)
{
    char sum[65];

    return mot_file_sha256(path, sum) == MOT_OK && strcmp(sum, file->sha256) == 0;
}

/* Get url into the open file at temporary and put it at path if it is what it should be. */
static bool receive(const char *url, int handle, const char *temporary, const char *path,
                    const struct fetch_file *file, char reason[FETCH_REASON])
{
    FILE *out = fdopen(handle, "wb");
    bool fine;

    if (!out) {
        say_into(reason, FETCH_REASON, "%s: %s", temporary, strerror(errno));
        close(handle);
        return false;
    }
    fine = get(url, out, reason);
    if (fine && (fflush(out) || fsync(fileno(out)))) {
        say_into(reason, FETCH_REASON, "%s: %s", temporary, strerror(errno));
        fine = false;
    }
    fclose(out);
    if (fine && !is_right(temporary, file)) {
        say_into(reason, FETCH_REASON, "%s: the SHA-256 is not that of the file wanted", url);
        fine = false;
    }
    if (fine && rename(temporary, path)) {
        say_into(reason, FETCH_REASON, "%s: %s", path, strerror(errno));
        fine = false;
    }
    return fine;
}

static bool fetch_one(const char *mirror, const struct fetch_file *file, const char *dir,
                      char reason[FETCH_REASON])
{
    char path[PATH_BYTES], temporary[PATH_BYTES], url[PATH_BYTES];
    bool fine;
    int handle;

    say_into(path, sizeof path, "%s/%s", dir, file->name);
    say_into(temporary, sizeof temporary, "%s/" TEMPORARY "XXXXXX", dir);
    say_into(url, sizeof url, "%s%s", mirror, file->name);
    handle = mkstemp(temporary);
    if (handle < 0) {
        say_into(reason, FETCH_REASON, "%s: %s", dir, strerror(errno));
        return false;
    }
    fchmod(handle, 0644);
    fine = receive(url, handle, temporary, path, file, reason);
    if (!fine)
        unlink(temporary);
    return fine;
}

/* What a killed process left behind; a younger file may belong to one that is still at it. */
static void sweep(const char *dir)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        char path[PATH_BYTES];
        struct stat info;

        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0)
            continue;
        say_into(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (stat(path, &info) == 0 && time(NULL) - info.st_mtime > TEMPORARY_AGE_S)
            unlink(path);
    }
    if (folder)
        closedir(folder);
}

bool fetch_files(const char *const *mirror, size_t mirrors, const struct fetch_file *file,
                 size_t files, const char *dir, char reason[FETCH_REASON])
{
    size_t i, m;

    say_into(reason, FETCH_REASON, "stopped");
    sweep(dir);
    for (i = 0; i < files; i++) {
        char path[PATH_BYTES];
        bool here;

        say_into(path, sizeof path, "%s/%s", dir, file[i].name);
        here = is_right(path, &file[i]);
        for (m = 0; m < mirrors && !here && !interrupt_seen(); m++)
            here = fetch_one(mirror[m], &file[i], dir, reason);
        if (!here)
            return false;
    }
    return true;
}
