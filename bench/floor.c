/* A floor: a server that makes only the system calls of a broker for one connection.
 *
 *   floor FILE append BYTES ANSWER   each request's last BYTES go to the end of FILE (pwrite)
 *   floor FILE look BYTES ANSWER     the same, but it polls for the next request without sleeping
 *   floor FILE send BYTES ANSWER     each answer ends with the next BYTES of FILE; after the last
 *                                    come the first again (sendfile)
 *
 * A request is a 32-bit length and that number of bytes; its answer has ANSWER bytes before those of
 * FILE, of which the first four are the answer's length. Requests come one at a time, and
 * connections one after the other. Prints the port of 127.0.0.1. The cost of this server is that of
 * the kernel and the machine; what a broker costs beyond it is the broker's own. Linux only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MAX (1 << 16)

static char request[REQUEST_MAX], *answer;
static size_t bytes, answer_bytes;
static int file, appends, looks;
static off_t at, end;

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    /* As a broker does: an algorithm with pacing would add its own cost. */
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4)) fail("socket");
    if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 1)) fail("listen");
    if (getsockname(fd, (struct sockaddr *)&address, &size)) fail("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void wait_for_room(int fd) {
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    if (errno != EAGAIN || poll(&wanted, 1, -1) < 0) fail("send");
}

static void send_file(int fd) {
    for (size_t left = bytes; left;) {
        ssize_t sent = sendfile(fd, file, &at, left);
        if (sent > 0) left -= (size_t)sent;
        else if (sent < 0) wait_for_room(fd);
        else fail("sendfile: FILE is too short");
    }
    if (at + (off_t)bytes > end) at = 0;
}

static void append(size_t got) {
    if (got < bytes) { errno = EPROTO; fail("a request is too short"); }
    if (pwrite(file, request + got - bytes, bytes, at) != (ssize_t)bytes) fail("pwrite");
    at += (off_t)bytes;
}

/* Returns 0 if the peer has closed the connection. */
static size_t receive(int fd) {
    size_t got = 0;
    for (;;) {
        ssize_t some = recv(fd, request + got, sizeof request - got, MSG_DONTWAIT);
        if (some == 0 || (some < 0 && errno == ECONNRESET)) return 0;
        if (some < 0 && errno != EAGAIN) fail("recv");
        if (some > 0) got += (size_t)some;
        uint32_t length = 0;
        if (got >= 4) memcpy(&length, request, 4);
        if (got >= 4 && got >= 4 + (size_t)ntohl(length)) return got;
        if (got == sizeof request) { errno = EMSGSIZE; fail("recv"); }
    }
}

static void serve(int fd, int poll_fd) {
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
    for (;;) {
        if (!looks && epoll_wait(poll_fd, &event, 1, -1) < 0) fail("epoll_wait");
        size_t got = receive(fd);
        if (!got) return;
        if (appends) append(got);
        if (send(fd, answer, answer_bytes, MSG_NOSIGNAL | (appends ? 0 : MSG_MORE)) !=
            (ssize_t)answer_bytes)
            fail("send");
        if (!appends) send_file(fd);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "floor FILE append|look|send BYTES ANSWER\n"); return 2; }
    looks = !strcmp(argv[2], "look");
    appends = looks || !strcmp(argv[2], "append");
    bytes = strtoul(argv[3], NULL, 10);
    answer_bytes = strtoul(argv[4], NULL, 10);
    file = open(argv[1], appends ? O_RDWR | O_CREAT : O_RDONLY, 0600);
    struct stat stat;
    if (file < 0 || fstat(file, &stat)) fail(argv[1]);
    end = stat.st_size;
    if (answer_bytes < 4 || !(answer = calloc(1, answer_bytes))) fail("ANSWER");
    uint32_t length = htonl((uint32_t)(answer_bytes - 4 + (appends ? 0 : bytes)));
    memcpy(answer, &length, 4);
    int listener = listen_on_loopback(), poll_fd = epoll_create1(0), one = 1;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) fail("accept");
        serve(fd, poll_fd);
        close(fd);
    }
}
