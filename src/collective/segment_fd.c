/* Passes the descriptor of a shared segment to the other ranks: over Unix sockets with names in the
 * abstract namespace, which end with their process. The kernel reports which user the other end is.
 * /proc/PID/fd would not do: processes that hold a secret are not dumpable, and then only root may
 * open it.
 *
 * A receiver listens first; the sender connects, sends and closes without waiting, because the
 * kernel queues all of it. Once the sender has reported (by a message of the group) that it has
 * sent, the descriptor has arrived, so the receiver does not wait either. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/secret.h"
#include "collective/shm_parts.h"

#define PREFIX "skiff-segment-"
#define QUEUE 16 /* space for foreign connections, which are closed */

static socklen_t address_of(const uint8_t name[SEGMENT_NAME], struct sockaddr_un *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 1 + strlen(PREFIX);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, PREFIX, strlen(PREFIX));
    for (int i = 0; i < SEGMENT_NAME; i++) {
        out->sun_path[n++] = digits[name[i] >> 4];
        out->sun_path[n++] = digits[name[i] & 15];
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static bool is_same_user(int fd)
{
    struct ucred other;
    socklen_t n = sizeof other;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &n) == 0 && other.uid == geteuid();
}

int segment_listen(uint8_t out_name[SEGMENT_NAME])
{
    struct sockaddr_un a;
    secret_random(out_name, SEGMENT_NAME);
    socklen_t n = address_of(out_name, &a);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, QUEUE) == 0)
        return fd;
    close(fd);
    return -1;
}

/* ---- one message: a byte, and a descriptor ---- */

union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_on(int to, int fd)
{
    char byte = 0;
    union control control = {.bytes = {0}};
    struct iovec data = {&byte, 1};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(to, &m, MSG_NOSIGNAL) == 1;
}

static int receive_on(int from)
{
    char byte;
    int fd = -1;
    union control control = {.bytes = {0}};
    struct iovec data = {&byte, 1};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
        return -1;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

bool segment_send(int fd, const uint8_t name[SEGMENT_NAME])
{
    struct sockaddr_un a;
    socklen_t n = address_of(name, &a);
    int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (to < 0)
        return false;
    bool sent = connect(to, (struct sockaddr *)&a, n) == 0 && is_same_user(to) && send_on(to, fd);
    close(to);
    return sent;
}

static bool is_segment(int fd, size_t bytes)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == bytes;
}

int segment_receive(int listener, size_t bytes)
{
    int from, fd = -1;
    while (fd < 0 && (from = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (is_same_user(from))
            fd = receive_on(from);
        close(from);
        if (fd >= 0 && !is_segment(fd, bytes)) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}
