/* A caller at a PMIx port that is up to no good. Says for each connection whether it got an answer.
 *
 *   knock PORT tool UID                a tool that states a user
 *   knock PORT client UID NSPACE RANK  a process that states a user
 *   knock PORT cut NSPACE              for each kind of caller messages of other kinds, and every beginning of one,
 *                                      with a header that says that it is whole
 *   knock PORT garbage NSPACE RANK N   N connections, with random bytes behind a valid message
 *
 * With PORT 0 it is that of the process's own server. */

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int own_port(void)
{
    const char *uri = getenv("PMIX_SERVER_URI41");
    const char *colon = uri ? strrchr(uri, ':') : NULL;
    return colon ? atoi(colon + 1) : 0;
}

static int call(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = 6};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static unsigned char message[4096];
static size_t length;

static void put(const void *bytes, size_t count)
{
    memcpy(message + length, bytes, count);
    length += count;
}

/* Kind 0 is a client, 3 a tool without a name. A client states its name only, a tool its user. */
static void compose_as(unsigned char kind, bool user, bool name, uint32_t uid, const char *nspace, uint32_t rank)
{
    uint32_t credential = htonl(8), gid = 0, order = htonl(rank);
    length = 16;
    put("native", 7);
    put(&credential, 4);
    put(&uid, 4);
    put(&gid, 4);
    put(&kind, 1);
    if (user) {
        put(&uid, 4);
        put(&gid, 4);
    }
    if (name) {
        put(nspace, strlen(nspace) + 1);
        put(&order, 4);
    }
    put("4.2.2rc2", 9);
    put("v41\0\001hash", 10);
    message[length++] = 0;
}

static void compose(unsigned char kind, uint32_t uid, const char *nspace, uint32_t rank)
{
    compose_as(kind, kind != 0, kind == 0, uid, nspace, rank);
}

static void seal(size_t body)
{
    uint64_t count = body;
    memset(message, 0xff, 8);
    memcpy(message + 8, &count, 8);
}

static bool is_answered(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) == 1;
}

static bool say(int port, size_t count)
{
    int fd = call(port);
    if (fd < 0)
        return false;
    if (send(fd, message, count, MSG_NOSIGNAL) < 0) {
        close(fd);
        return false;
    }
    bool answered = is_answered(fd);
    close(fd);
    return answered;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int port = atoi(argv[1]) ? atoi(argv[1]) : own_port();
    const char *mode = argv[2];
    if (strcmp(mode, "tool") == 0 && argc == 4) {
        compose(3, strtoul(argv[3], NULL, 10), "", 0);
        /* Its attributes, in place of the last byte: libpmix 5.0 insists on them. One, a boolean. */
        length--;
        put("\002\001\002\016k.bool\0\0\001\001", 14);
        seal(length - 16);
        puts(say(port, length) ? "answered" : "turned away");
    } else if (strcmp(mode, "client") == 0 && argc == 6) {
        compose(0, strtoul(argv[3], NULL, 10), argv[4], strtoul(argv[5], NULL, 10));
        seal(length - 16);
        puts(say(port, length) ? "answered" : "turned away");
    } else if (strcmp(mode, "cut") == 0 && argc == 4) {
        int answered = 0;
        for (int kind = 0; kind < 12; kind++) {
            /* A name without a user, for those who state both or a user only. */
            compose_as(kind, false, kind > 0, getuid(), argv[3], 0);
            seal(length - 16);
            answered += say(port, length);
            compose(kind, getuid(), argv[3], 0);
            size_t whole = length;
            for (size_t body = 1; body + 16 < whole - 1; body++) {
                seal(body);
                answered += say(port, 16 + body);
            }
        }
        printf("%d answered\n", answered);
    } else if (strcmp(mode, "garbage") == 0 && argc == 6) {
        srand(getpid());
        for (int i = atoi(argv[5]); i > 0; i--) {
            compose(0, getuid(), argv[3], strtoul(argv[4], NULL, 10));
            seal(length - 16);
            int fd = call(port);
            if (fd < 0)
                continue;
            /* The library may be busy with what it got before. */
            struct timeval limit = {.tv_usec = 300000};
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
            if (send(fd, message, length, MSG_NOSIGNAL) > 0 && is_answered(fd)) {
                unsigned char bytes[2048];
                for (size_t at = 0; at < sizeof bytes; at++)
                    bytes[at] = rand();
                /* Some of them with a length that is possible. */
                if (i % 2) {
                    uint64_t count = rand() % 1024;
                    memcpy(bytes + 8, &count, 8);
                }
                if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
                    perror("send");
                usleep(1000);
            }
            close(fd);
        }
        puts("done");
    } else {
        return 2;
    }
    return 0;
}
