// A TCP connection between the two threads of a team, which are in two processes.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void expect(int right, const char *what) {
    if (right) return;
    perror(what);
    exit(1);
}

// The calling thread's end. Both threads call.
static int connection(void) {
    static struct sockaddr_in address;
    int me = omp_get_thread_num(), one = 1, listener = -1, end;
    if (me == 0) {
        socklen_t length = sizeof address;
        address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        listener = socket(AF_INET, SOCK_STREAM, 0);
        expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
        expect(listen(listener, 1) == 0, "listen");
        expect(getsockname(listener, (struct sockaddr *)&address, &length) == 0, "getsockname");
    }
#pragma omp barrier
    if (me == 0) {
        end = accept(listener, NULL, NULL);
        close(listener);
    } else {
        end = socket(AF_INET, SOCK_STREAM, 0);
        expect(connect(end, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    }
    expect(end >= 0 && setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "socket");
    return end;
}
