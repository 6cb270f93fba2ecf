/* Files that a process has the DVM remove after it (PMIX_REGISTER_CLEANUP and its relatives), without MPI.
   `cleanup DIRECTORY UID` makes these in the directory, registers them and ends:

   file            a file
   foreign         a file that belongs to the user UID
   tree/           a directory with a file and a directory in it, with PMIX_CLEANUP_RECURSIVE
   top/            the same, with PMIX_CLEANUP_LEAVE_TOPDIR
   flat/           the same, without PMIX_CLEANUP_RECURSIVE */

#include <fcntl.h>
#include <pmix.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "status.h"

static const char *base;

static char *path(const char *name)
{
    char *text = malloc(strlen(base) + strlen(name) + 2);
    sprintf(text, "%s/%s", base, name);
    return text;
}

static void need(bool is_so, const char *what)
{
    if (!is_so) {
        perror(what);
        exit(99);
    }
}

static void make_file(const char *name)
{
    int file = open(path(name), O_CREAT | O_WRONLY, 0600);
    need(file >= 0 && close(file) == 0, name);
}

static void make_tree(const char *name)
{
    char inner[64];
    need(mkdir(path(name), 0700) == 0, name);
    snprintf(inner, sizeof inner, "%s/keep", name);
    make_file(inner);
    snprintf(inner, sizeof inner, "%s/sub", name);
    need(mkdir(path(inner), 0700) == 0, inner);
    snprintf(inner, sizeof inner, "%s/sub/file", name);
    make_file(inner);
}

/* Registers with up to three pairs of a key and a text; an empty text is `true`. */
static void ask(const char *what, int pairs, ...)
{
    pmix_info_t infos[3];
    bool yes = true;
    va_list args;
    va_start(args, pairs);
    for (int i = 0; i < pairs; i++) {
        const char *key = va_arg(args, const char *), *text = va_arg(args, const char *);
        if (*text)
            PMIX_INFO_LOAD(&infos[i], key, text, PMIX_STRING);
        else
            PMIX_INFO_LOAD(&infos[i], key, &yes, PMIX_BOOL);
    }
    va_end(args);
    printf("%s %s\n", what, name_of(PMIx_Job_control(NULL, 0, infos, pairs, NULL, NULL)));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    need(argc == 3 && PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "init");
    base = argv[1];
    make_file("file");
    make_file("foreign");
    need(chown(path("foreign"), atoi(argv[2]), (gid_t)-1) == 0, "chown");
    make_tree("tree");
    make_tree("top");
    make_tree("flat");
    ask("file", 1, PMIX_REGISTER_CLEANUP, path("file"));
    ask("foreign", 1, PMIX_REGISTER_CLEANUP, path("foreign"));
    ask("tree", 2, PMIX_REGISTER_CLEANUP_DIR, path("tree"), PMIX_CLEANUP_RECURSIVE, "");
    ask("top", 3, PMIX_REGISTER_CLEANUP_DIR, path("top"), PMIX_CLEANUP_RECURSIVE, "", PMIX_CLEANUP_LEAVE_TOPDIR, "");
    ask("flat", 1, PMIX_REGISTER_CLEANUP_DIR, path("flat"));
    ask("empty", 2, PMIX_REGISTER_CLEANUP_DIR, path("flat"), "pmix.clnup.empty", "");
    return PMIx_Finalize(NULL, 0);
}
