/* The replayer: sends encoded frames again and again, and measures the time of the answers.
 *
 *   replay PLAN SECONDS DEPTH ANSWERED MOST
 *
 * PLAN is a file of 32-bit numbers in the machine's order: the number of connections, then for each
 * its port and its number of frames, then for each frame its length and its bytes. A connection
 * sends its frames in turn and has at most DEPTH of them in flight; with ANSWERED 0 there are no
 * answers (acks=0), and only the socket's buffer limits it. It ends after SECONDS, or MOST frames.
 *
 * Prints one line (frames answered or sent, bytes received, seconds, seconds of its own CPU), then a
 * 32-bit number of nanoseconds for each answer. It is in C so that it takes little CPU beside the
 * broker on the same machine. Linux only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define RECEIVE_BYTES (1 << 20)
#define DRAIN_S 30

typedef struct {
    const char *bytes;
    uint32_t length;
} Frame;

typedef struct {
    int fd, wants_out;
    Frame *frames;
    uint32_t frame_count, next_frame, written;
    uint32_t first, under_way;      /* a ring of send times */
    uint64_t sent_at[DEPTH_MAX], began_at;
    uint32_t head_bytes, skip_bytes; /* of the response that is being read */
    unsigned char head[4];
} Connection;

static uint32_t *trips;
static size_t trip_count, trip_room;
static uint64_t done, received, started, limit;
static int depth, answered, poll_fd, stopping;

static void fail(const char *what) {
    fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note_trip(uint64_t nanoseconds) {
    if (trip_count == trip_room) {
        trip_room = trip_room ? 2 * trip_room : 1 << 16;
        trips = realloc(trips, trip_room * sizeof *trips);
        if (!trips) fail("memory");
    }
    trips[trip_count++] = nanoseconds > UINT32_MAX ? UINT32_MAX : (uint32_t)nanoseconds;
}

static void want_out(Connection *c, int wanted) {
    if (c->wants_out == wanted) return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->fd, &event)) fail("epoll_ctl");
    c->wants_out = wanted;
}

/* Send until DEPTH frames are in flight, or the socket's buffer is full. */
static void send_some(Connection *c) {
    while (c->written || (!stopping && (!answered || (int)c->under_way < depth))) {
        Frame *frame = &c->frames[c->next_frame];
        if (!c->written) {
            if (started >= limit) { stopping = 1; return; }
            started++;
            c->began_at = now_ns();
        }
        ssize_t sent = send(c->fd, frame->bytes + c->written, frame->length - c->written,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) { want_out(c, 1); return; }
        if (sent < 0) fail("send");
        c->written += (uint32_t)sent;
        if (c->written < frame->length) continue;
        c->written = 0;
        c->next_frame = (c->next_frame + 1) % c->frame_count;
        if (!answered) { done++; want_out(c, 1); return; }
        c->sent_at[(c->first + c->under_way++) % DEPTH_MAX] = c->began_at;
    }
    want_out(c, 0);
}

static void take_bytes(Connection *c, const unsigned char *data, size_t size) {
    received += size;
    while (size) {
        if (c->head_bytes < 4) {
            c->head[c->head_bytes++] = *data++;
            size--;
            if (c->head_bytes < 4) continue;
            uint32_t length;
            memcpy(&length, c->head, 4);
            c->skip_bytes = ntohl(length);
        }
        uint32_t part = size < c->skip_bytes ? (uint32_t)size : c->skip_bytes;
        data += part;
        size -= part;
        c->skip_bytes -= part;
        if (c->skip_bytes) return;
        c->head_bytes = 0;
        if (!c->under_way) { errno = EPROTO; fail("an answer to nothing"); }
        note_trip(now_ns() - c->sent_at[c->first]);
        c->first = (c->first + 1) % DEPTH_MAX;
        c->under_way--;
        done++;
    }
}

static void receive_some(Connection *c) {
    static unsigned char buffer[RECEIVE_BYTES];
    ssize_t got = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == 0) errno = ECONNRESET;
    if (got <= 0) fail("the broker closed the connection");
    take_bytes(c, buffer, (size_t)got);
}

static int connect_to(uint32_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static uint32_t number(char **at) {
    uint32_t value;
    memcpy(&value, *at, 4);
    *at += 4;
    return value;
}

static Connection *read_plan(const char *path, uint32_t *count) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail(path);
    long size = ftell(file);
    rewind(file);
    char *at = malloc((size_t)size);
    if (!at || fread(at, 1, (size_t)size, file) != (size_t)size) fail(path);
    fclose(file);
    *count = number(&at);
    Connection *connections = calloc(*count, sizeof *connections);
    for (Connection *c = connections; c < connections + *count; c++) {
        c->fd = connect_to(number(&at));
        c->frame_count = number(&at);
        c->frames = calloc(c->frame_count, sizeof *c->frames);
        for (uint32_t i = 0; i < c->frame_count; i++) {
            c->frames[i].length = number(&at);
            c->frames[i].bytes = at;
            at += c->frames[i].length;
        }
    }
    return connections;
}

static int all_at_rest(const Connection *connections, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (connections[i].under_way || connections[i].written) return 0;
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "replay PLAN SECONDS DEPTH ANSWERED MOST\n"); return 2; }
    uint32_t count;
    Connection *connections = read_plan(argv[1], &count);
    uint64_t length_ns = (uint64_t)(atof(argv[2]) * 1e9);
    depth = atoi(argv[3]);
    answered = atoi(argv[4]);
    limit = strtoull(argv[5], NULL, 10);
    if (depth < 1 || depth > DEPTH_MAX) { errno = EINVAL; fail("DEPTH"); }
    poll_fd = epoll_create1(0);
    uint64_t began = now_ns();
    for (uint32_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, connections[i].fd, &event)) fail("epoll_ctl");
        send_some(&connections[i]);
    }
    struct epoll_event events[256];
    for (;;) {
        uint64_t spent = now_ns() - began;
        if (spent >= length_ns) stopping = 1;
        if (stopping && all_at_rest(connections, count)) break;
        if (spent > length_ns + DRAIN_S * 1000000000ull) { errno = ETIMEDOUT; fail("no answer"); }
        int ready = epoll_wait(poll_fd, events, 256, 100);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < ready; i++) {
            Connection *c = events[i].data.ptr;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive_some(c);
            send_some(c);
        }
    }
    double seconds = (double)(now_ns() - began) / 1e9;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("%llu %llu %.6f %.6f\n", (unsigned long long)done, (unsigned long long)received, seconds, cpu);
    fwrite(trips, sizeof *trips, trip_count, stdout);
    return 0;
}
