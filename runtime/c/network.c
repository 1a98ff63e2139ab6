/* Messages, and addresses of hosts and interfaces. Lists that the C library allocates are copied to the shared heap, where every process can read them. */
#define _GNU_SOURCE
#include "internal.h"

#include <ifaddrs.h>
#include <linux/if_link.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <errno.h>

#define OPEN (-1)

/* A copy of what may be absent; notes in `failed` if there is no memory for it. */
static void *copied(const void *from, size_t bytes, int *failed) {
    void *to = from ? dsm_copied(from, bytes) : NULL;
    *failed |= from && !to;
    return to;
}

static char *copied_string(const char *from, int *failed) { return copied(from, from ? strlen(from) + 1 : 0, failed); }

/* ---- messages ---- */

ssize_t __dsm_sendmsg(int fd, const struct msghdr *message, int flags) {
    dsm_rt_load(message, sizeof *message);
    struct msghdr own = *message;
    dsm_rt_load(own.msg_iov, own.msg_iovlen * sizeof *own.msg_iov);
    for (size_t i = 0; i < own.msg_iovlen; i++) dsm_rt_load(own.msg_iov[i].iov_base, own.msg_iov[i].iov_len);
    if (own.msg_name) dsm_rt_load(own.msg_name, own.msg_namelen);
    if (own.msg_control) dsm_rt_load(own.msg_control, own.msg_controllen);
    return sendmsg(fd, message, flags);
}

/* Arrives in private memory: nothing of the program's stays writable for the time of a wait. */
ssize_t __dsm_recvmsg(int fd, struct msghdr *message, int flags) {
    dsm_rt_load(message, sizeof *message);
    struct msghdr own = *message;
    dsm_rt_load(own.msg_iov, own.msg_iovlen * sizeof *own.msg_iov);
    size_t all = own.msg_namelen + own.msg_controllen;
    for (size_t i = 0; i < own.msg_iovlen; i++) all += own.msg_iov[i].iov_len;
    char *buffer = malloc(all + 1);
    if (buffer == NULL) {
        errno = ENOMEM;
        return -1;
    }
    char *name = buffer, *data = buffer + own.msg_namelen;
    char *control = buffer + all - own.msg_controllen;
    struct iovec one = {data, (size_t)(control - data)};
    struct msghdr arrived = {own.msg_name ? name : NULL, own.msg_namelen, &one, 1, own.msg_control ? control : NULL, own.msg_controllen, 0};
    ssize_t bytes = recvmsg(fd, &arrived, flags);
    if (bytes >= 0) {
        size_t left = (size_t)bytes < one.iov_len ? (size_t)bytes : one.iov_len;
        dsm_rt_load(own.msg_iov, own.msg_iovlen * sizeof *own.msg_iov);
        for (size_t i = 0; i < own.msg_iovlen && left; i++) {
            struct iovec to = own.msg_iov[i];
            size_t part = to.iov_len < left ? to.iov_len : left;
            dsm_rt_store(to.iov_base, (long)part);
            memcpy(to.iov_base, data, part);
            data += part;
            left -= part;
        }
        if (own.msg_name) {
            socklen_t length = arrived.msg_namelen < own.msg_namelen ? arrived.msg_namelen : own.msg_namelen;
            dsm_rt_store(own.msg_name, length);
            memcpy(own.msg_name, name, length);
        }
        if (own.msg_control) {
            dsm_rt_store(own.msg_control, (long)arrived.msg_controllen);
            memcpy(own.msg_control, control, arrived.msg_controllen);
        }
        dsm_rt_store((char *)message, sizeof *message);
        message->msg_namelen = arrived.msg_namelen;
        message->msg_controllen = arrived.msg_controllen;
        message->msg_flags = arrived.msg_flags;
    }
    int error = errno;
    free(buffer);
    errno = error;
    return bytes;
}

/* ---- hosts ---- */

/* Each element is written when all that it names is there: the program's own allocator may synchronise. */
static struct addrinfo *copied_hosts(const struct addrinfo *from, int *failed) {
    if (from == NULL) return NULL;
    struct addrinfo copy = *from;
    copy.ai_next = copied_hosts(from->ai_next, failed);
    copy.ai_addr = copied(from->ai_addr, from->ai_addrlen, failed);
    copy.ai_canonname = copied_string(from->ai_canonname, failed);
    return copied(&copy, sizeof copy, failed);
}

void __dsm_freeaddrinfo(struct addrinfo *list);

int __dsm_getaddrinfo(const char *host, const char *service, const struct addrinfo *wanted, struct addrinfo **out) {
    if (host) dsm_rt_load_string(host, OPEN);
    if (service) dsm_rt_load_string(service, OPEN);
    if (wanted) dsm_rt_load(wanted, sizeof *wanted);
    struct addrinfo *own = NULL;
    int status = getaddrinfo(host, service, wanted, &own), failed = 0;
    if (status) return status;
    struct addrinfo *list = copied_hosts(own, &failed);
    freeaddrinfo(own);
    if (failed) {
        __dsm_freeaddrinfo(list);
        return EAI_MEMORY;
    }
    dsm_rt_store((char *)out, sizeof *out);
    *out = list;
    return 0;
}

void __dsm_freeaddrinfo(struct addrinfo *list) {
    if (list && !dsm_rt_is_shared(list)) {
        /* A library's own. */
        freeaddrinfo(list);
        return;
    }
    while (list) {
        dsm_rt_load(list, sizeof *list);
        struct addrinfo own = *list;
        __dsm_free(own.ai_addr);
        __dsm_free(own.ai_canonname);
        __dsm_free(list);
        list = own.ai_next;
    }
}

/* ---- interfaces ---- */

static struct sockaddr *copied_address(const struct sockaddr *address, int *failed) {
    if (address == NULL) return NULL;
    switch (address->sa_family) {
    case AF_INET: return copied(address, sizeof(struct sockaddr_in), failed);
    case AF_INET6: return copied(address, sizeof(struct sockaddr_in6), failed);
    /* Hardware addresses may be longer than the structure says. */
    case AF_PACKET: return copied(address, offsetof(struct sockaddr_ll, sll_addr) + 24, failed);
    default: return copied(address, sizeof *address, failed);
    }
}

static struct ifaddrs *copied_interfaces(const struct ifaddrs *from, int *failed) {
    if (from == NULL) return NULL;
    struct ifaddrs copy = *from;
    int counts = from->ifa_addr && from->ifa_addr->sa_family == AF_PACKET;
    copy.ifa_next = copied_interfaces(from->ifa_next, failed);
    copy.ifa_name = copied_string(from->ifa_name, failed);
    copy.ifa_addr = copied_address(from->ifa_addr, failed);
    copy.ifa_netmask = copied_address(from->ifa_netmask, failed);
    copy.ifa_broadaddr = copied_address(from->ifa_broadaddr, failed);
    copy.ifa_data = counts ? copied(from->ifa_data, sizeof(struct rtnl_link_stats), failed) : NULL;
    return copied(&copy, sizeof copy, failed);
}

void __dsm_freeifaddrs(struct ifaddrs *list);

int __dsm_getifaddrs(struct ifaddrs **out) {
    struct ifaddrs *own = NULL;
    int status = getifaddrs(&own), failed = 0;
    if (status) return status;
    struct ifaddrs *list = copied_interfaces(own, &failed);
    freeifaddrs(own);
    if (failed) {
        __dsm_freeifaddrs(list);
        errno = ENOMEM;
        return -1;
    }
    dsm_rt_store((char *)out, sizeof *out);
    *out = list;
    return 0;
}

void __dsm_freeifaddrs(struct ifaddrs *list) {
    if (list && !dsm_rt_is_shared(list)) {
        freeifaddrs(list);
        return;
    }
    while (list) {
        dsm_rt_load(list, sizeof *list);
        struct ifaddrs own = *list;
        __dsm_free(own.ifa_name);
        __dsm_free(own.ifa_addr);
        __dsm_free(own.ifa_netmask);
        __dsm_free(own.ifa_broadaddr);
        __dsm_free(own.ifa_data);
        __dsm_free(list);
        list = own.ifa_next;
    }
}
