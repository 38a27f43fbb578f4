/* A floor for batches: a server that only receives, writes and answers the requests of producers.
 *
 *   floor_batches FILE BROKER
 *
 * It is a proxy of the broker at port BROKER of 127.0.0.1, so that a stock client gets answers to all
 * its requests: each request goes to the broker, and the answer comes back with this server's port
 * in place of the broker's. Only Produce differs: the first of each connection goes to the broker,
 * too, but every later one is received whole (recv), appended to FILE (pwrite) and answered as the
 * first was (send). Its bytes are not read: no checksum, no offset, no index. Prints the port of
 * 127.0.0.1. What a broker costs beyond this is the broker's own. Linux only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD 12 /* length, key of the API, its version, correlation id */
#define FRAME_MAX (64u << 20)
#define PRODUCE 0
#define CORRELATION_AT 4 /* in an answer */

typedef struct {
    int fd, broker;
    unsigned char *frame, *answer;
    size_t room, have, answer_bytes;
} Connection;

static int file, poll_fd;
static off_t at;
static uint32_t broker_port, own_port;

static void fail(const char *what) {
    fprintf(stderr, "floor_batches: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint32_t number(const unsigned char *from) {
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return ntohl(value);
}

static struct sockaddr_in loopback(uint32_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int listen_on_loopback(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    /* As a broker does: an algorithm with pacing would add its own cost. */
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4)) fail("socket");
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 64)) fail("listen");
    if (getsockname(fd, (struct sockaddr *)&address, &size)) fail("getsockname");
    own_port = ntohs(address.sin_port);
    printf("%u\n", own_port);
    fflush(stdout);
    return fd;
}

static void send_whole(int fd, const unsigned char *data, size_t size) {
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        data += sent;
        size -= (size_t)sent;
    }
}

static void receive_whole(int fd, unsigned char *data, size_t size) {
    if (recv(fd, data, size, MSG_WAITALL) != (ssize_t)size) fail("recv from the broker");
}

/* Replace the port after each 127.0.0.1, where it is the broker's. */
static void put_own_port(unsigned char *data, size_t size) {
    static const char host[] = "127.0.0.1";
    uint32_t theirs = htonl(broker_port), own = htonl(own_port);
    unsigned char wanted[sizeof host - 1 + sizeof theirs], *found;
    memcpy(wanted, host, sizeof host - 1);
    memcpy(wanted + sizeof host - 1, &theirs, sizeof theirs);
    while ((found = memmem(data, size, wanted, sizeof wanted)))
        memcpy(found + sizeof host - 1, &own, sizeof own);
}

static void ask_broker(Connection *c, int is_produce) {
    unsigned char length[4];
    send_whole(c->broker, c->frame, c->have);
    receive_whole(c->broker, length, sizeof length);
    size_t size = sizeof length + number(length);
    unsigned char *answer = malloc(size);
    if (!answer) fail("memory");
    memcpy(answer, length, sizeof length);
    receive_whole(c->broker, answer + sizeof length, size - sizeof length);
    if (!is_produce) put_own_port(answer, size);
    send_whole(c->fd, answer, size);
    if (!is_produce) { free(answer); return; }
    c->answer = answer;
    c->answer_bytes = size;
}

static void handle(Connection *c) {
    int is_produce = c->frame[4] == 0 && c->frame[5] == PRODUCE;
    if (!is_produce || !c->answer) { ask_broker(c, is_produce); return; }
    if (pwrite(file, c->frame, c->have, at) != (ssize_t)c->have) fail("pwrite");
    at += (off_t)c->have;
    memcpy(c->answer + CORRELATION_AT, c->frame + 8, 4);
    send_whole(c->fd, c->answer, c->answer_bytes);
}

/* Returns the length of the frame that has begun, or of its head until the head has arrived. */
static size_t wanted(Connection *c) {
    if (c->have < HEAD) return HEAD;
    size_t size = 4 + (size_t)number(c->frame);
    if (size < HEAD || size > FRAME_MAX) { errno = EMSGSIZE; fail("a request"); }
    if (size > c->room && !(c->frame = realloc(c->frame, c->room = size))) fail("memory");
    return size;
}

/* Returns 0 if the peer has closed the connection. */
static int take(Connection *c) {
    for (;;) {
        size_t size = wanted(c);
        ssize_t got = recv(c->fd, c->frame + c->have, size - c->have, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) return 1;
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return 0;
        if (got < 0) fail("recv");
        c->have += (size_t)got;
        if (c->have < HEAD || c->have < wanted(c)) continue;
        handle(c);
        c->have = 0;
    }
}

static void accept_one(int listener) {
    int one = 1;
    struct sockaddr_in address = loopback(broker_port);
    Connection *c = calloc(1, sizeof *c);
    if (!c || !(c->frame = malloc(c->room = 1 << 20))) fail("memory");
    if ((c->fd = accept(listener, NULL, NULL)) < 0) fail("accept");
    c->broker = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->broker, (struct sockaddr *)&address, sizeof address)) fail("connect to BROKER");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(c->broker, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event)) fail("epoll_ctl");
}

static void end(Connection *c) {
    close(c->fd);
    close(c->broker);
    free(c->frame);
    free(c->answer);
    free(c);
}

int main(int argc, char **argv) {
    if (argc != 3) { fprintf(stderr, "floor_batches FILE BROKER\n"); return 2; }
    file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0) fail(argv[1]);
    broker_port = (uint32_t)strtoul(argv[2], NULL, 10);
    int listener = listen_on_loopback();
    poll_fd = epoll_create1(0);
    struct epoll_event events[64] = {{.events = EPOLLIN, .data.ptr = NULL}};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, events)) fail("epoll_ctl");
    for (;;) {
        int count = epoll_wait(poll_fd, events, 64, -1);
        if (count < 0) fail("epoll_wait");
        for (int i = 0; i < count; i++) {
            Connection *c = events[i].data.ptr;
            if (!c) accept_one(listener);
            else if (!take(c)) end(c);
        }
    }
}
