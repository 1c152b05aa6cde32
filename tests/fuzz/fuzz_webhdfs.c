/* Answers of a WebHDFS server, over a socket: the first byte selects the request; each answer then
 * has a byte for its status, two for its length, and its body. After the last one, it answers 404.
 * Listed files lie in their folder; sizes are not negative. */
#include "fuzz.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/fs.h"

static struct {
    pthread_mutex_t lock;
    const uint8_t *data; /* answers that are left */
    size_t n;
    int listener, port;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void send_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    for (ssize_t sent; n && (sent = send(fd, at, n, MSG_NOSIGNAL)) > 0;) {
        at += sent;
        n -= (size_t)sent;
    }
}

/* 5xx is not there: that is tried again, and every try costs time. */
static void answer(int fd)
{
    static const int codes[] = {200, 200, 200, 400, 403, 404, 307, 201};
    static const char gone[] = "{\"RemoteException\":{\"exception\":\"FileNotFoundException\"}}";
    char head[256];
    pthread_mutex_lock(&server.lock);
    int code = 404;
    const void *body = gone;
    size_t n = sizeof gone - 1;
    if (server.n >= 3) {
        code = codes[server.data[0] % 8];
        n = server.data[1] + ((size_t)server.data[2] << 8);
        body = server.data + 3;
        n = n < server.n - 3 ? n : server.n - 3;
        server.data += 3 + n;
        server.n -= 3 + n;
    } else
        server.n = 0;
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", code,
                       n, code == 307 ? "Location: /there\r\n" : "");
    send_all(fd, head, (size_t)len);
    send_all(fd, body, n);
    pthread_mutex_unlock(&server.lock);
}

static void *serve(void *unused)
{
    for (;;) {
        char request[8192];
        size_t have = 0;
        int fd = accept(server.listener, NULL, NULL);
        require(fd >= 0);
        for (ssize_t got; have < sizeof request - 1; have += (size_t)got) {
            got = recv(fd, request + have, sizeof request - 1 - have, 0);
            if (got <= 0)
                break;
            request[have + (size_t)got] = 0;
            if (strstr(request, "\r\n\r\n")) {
                answer(fd);
                break;
            }
        }
        close(fd);
    }
    return unused;
}

static void start(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    pthread_t thread;
    if (server.port)
        return;
    setenv("SKIFF_FS_PAUSE", "1", 1);
    setenv("SKIFF_FS_TRIES", "1", 1);
    setenv("no_proxy", "*", 1);
    unsetenv("SKIFF_HADOOP_BIN");
    unsetenv("SKIFF_WEBHDFS_ENDPOINT");
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(bind(server.listener, (struct sockaddr *)&at, len) == 0);
    require(listen(server.listener, 16) == 0);
    require(getsockname(server.listener, (struct sockaddr *)&at, &len) == 0);
    server.port = ntohs(at.sin_port);
    require(pthread_create(&thread, NULL, serve, NULL) == 0);
    pthread_detach(thread);
}

/* ---- what is asked ---- */

static void look(const char *path)
{
    struct fs_stat st = {0};
    if (fs_look(NULL, path, &st, NULL) == SKIFF_OK)
        require(st.size >= 0 && (!st.folder || !st.size));
}

static void list(const char *path)
{
    struct fs_list l = {0};
    size_t n = strlen(path);
    if (fs_list(NULL, path, &l, NULL) == SKIFF_OK)
        for (int i = 0; i < l.count; i++) {
            const char *p = l.entries[i].path, *name = p + n + 1;
            require(!strncmp(p, path, n) && p[n] == '/' && *name && !strchr(name, '/'));
            require(strcmp(name, ".") && strcmp(name, "..") && l.entries[i].stat.size >= 0);
        }
    fs_list_deinit(&l);
}

static void read_file(const char *path)
{
    struct fs_reader *r = NULL;
    char bytes[4096];
    size_t got;
    if (fs_open(NULL, path, NULL, &r, NULL) < 0)
        return;
    for (int i = 0; i < 16 && fs_read(r, bytes, sizeof bytes, &got, NULL) == SKIFF_OK && got; i++)
        ;
    fs_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[64], to[64];
    start();
    if (!n)
        return 0;
    pthread_mutex_lock(&server.lock);
    server.data = data + 1;
    server.n = n - 1;
    pthread_mutex_unlock(&server.lock);
    snprintf(path, sizeof path, "webhdfs://127.0.0.1:%d/d", server.port);
    snprintf(to, sizeof to, "webhdfs://127.0.0.1:%d/e", server.port);
    switch (data[0] % 6) {
    case 0:
        look(path);
        break;
    case 1:
        list(path);
        break;
    case 2:
        read_file(path);
        break;
    case 3:
        (void)fs_rename(NULL, path, to, NULL);
        break;
    case 4:
        (void)fs_replace_all(NULL, &(struct fs_move){.from = path, .to = to}, 1, NULL);
        break;
    default:
        (void)fs_mkdirs(NULL, path, NULL);
        (void)fs_remove(NULL, path, NULL);
    }
    pthread_mutex_lock(&server.lock); /* the input is the caller's from now on */
    server.n = 0;
    pthread_mutex_unlock(&server.lock);
    return 0;
}
