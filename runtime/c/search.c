/* Binary trees of <search.h>: their nodes lie on the shared heap, so every process can use a tree. The C library's own would be private to the process
 * that made them.
 *
 * A tree is a treap: in order by the program's comparison, and a heap by a hash of the nodes' addresses, which balances it. Comparisons and actions
 * are functions of the program and may synchronise, so nothing is taken for valid behind one. */
#define _GNU_SOURCE
#include "internal.h"

#include <search.h>

/* The program sees the first member. */
struct node {
    const void *key;
    struct node *left, *right;
};

typedef int (*Compare)(const void *, const void *);
typedef void (*Action)(const void *, VISIT, int);
typedef void (*ActionWith)(const void *, VISIT, void *);

static struct node *readable(struct node *node) {
    if (node) dsm_rt_load(node, sizeof *node);
    return node;
}

static struct node *writable(struct node *node) {
    dsm_rt_store((char *)node, sizeof *node);
    return node;
}

static struct node *root_of(void *const *root) {
    dsm_rt_load(root, sizeof *root);
    return *root;
}

static void set_root(void **root, struct node *node) {
    dsm_rt_store((char *)root, sizeof *root);
    *root = node;
}

static uint64_t priority(const struct node *node) {
    uint64_t hash = (uintptr_t)node * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

/* The subtree with the key, which `found` has; null if there is no memory for a new node. */
static struct node *insert(struct node *at, const void *key, Compare compare, struct node **found) {
    if (at == NULL) {
        *found = __dsm_malloc(sizeof **found);
        if (*found) *writable(*found) = (struct node){key, NULL, NULL};
        return *found;
    }
    int order = compare(key, readable(at)->key);
    if (order == 0) return *found = at;
    struct node *old = order < 0 ? readable(at)->left : readable(at)->right;
    struct node *child = insert(old, key, compare, found);
    if (child == NULL || child == old) return child ? at : NULL;
    if (priority(child) <= priority(at)) {
        *(order < 0 ? &writable(at)->left : &writable(at)->right) = child;
        return at;
    }
    if (order < 0) {
        writable(at)->left = readable(child)->right;
        writable(child)->right = at;
    } else {
        writable(at)->right = readable(child)->left;
        writable(child)->left = at;
    }
    return child;
}

void *__dsm_tsearch(const void *key, void **root, Compare compare) {
    if (root == NULL) return NULL;
    struct node *found = NULL, *before = root_of(root), *after = insert(before, key, compare, &found);
    if (after && after != before) set_root(root, after);
    return found;
}

void *__dsm_tfind(const void *key, void *const *root, Compare compare) {
    struct node *at = root ? root_of(root) : NULL;
    while (at) {
        int order = compare(key, readable(at)->key);
        if (order == 0) break;
        at = order < 0 ? readable(at)->left : readable(at)->right;
    }
    return at;
}

static struct node *joined(struct node *left, struct node *right) {
    if (left == NULL || right == NULL) return left ? left : right;
    if (priority(left) > priority(right)) {
        struct node *rest = joined(readable(left)->right, right);
        writable(left)->right = rest;
        return left;
    }
    struct node *rest = joined(left, readable(right)->left);
    writable(right)->left = rest;
    return right;
}

void *__dsm_tdelete(const void *key, void **root, Compare compare) {
    struct node *parent = NULL, *at = root ? root_of(root) : NULL;
    int side = 0;
    while (at) {
        int order = compare(key, readable(at)->key);
        if (order == 0) break;
        parent = at;
        side = order;
        at = order < 0 ? readable(at)->left : readable(at)->right;
    }
    if (at == NULL) return NULL;
    struct node *left = readable(at)->left, *rest = joined(left, at->right);
    if (parent == NULL)
        set_root(root, rest);
    else
        *(side < 0 ? &writable(parent)->left : &writable(parent)->right) = rest;
    __dsm_free(at);
    /* Anything but null will do where there is no parent. */
    return parent ? (void *)parent : (void *)root;
}

/* What is to be called at a node, in one of two shapes. */
struct visitor {
    Action action;
    ActionWith action_with;
    void *closure;
};

static void visit(struct node *node, VISIT when, int depth, const struct visitor *visitor) {
    if (visitor->action)
        visitor->action(node, when, depth);
    else
        visitor->action_with(node, when, visitor->closure);
}

static void walk(struct node *node, int depth, const struct visitor *visitor) {
    struct node *left = readable(node)->left, *right = node->right;
    if (left == NULL && right == NULL) {
        visit(node, leaf, depth, visitor);
        return;
    }
    visit(node, preorder, depth, visitor);
    if (left) walk(left, depth + 1, visitor);
    visit(node, postorder, depth, visitor);
    if (right) walk(right, depth + 1, visitor);
    visit(node, endorder, depth, visitor);
}

void __dsm_twalk(const void *root, Action action) {
    struct visitor visitor = {action, NULL, NULL};
    if (root && action) walk((struct node *)root, 0, &visitor);
}

void __dsm_twalk_r(const void *root, ActionWith action, void *closure) {
    struct visitor visitor = {NULL, action, closure};
    if (root && action) walk((struct node *)root, 0, &visitor);
}

void __dsm_tdestroy(void *root, void (*release)(void *)) {
    if (root == NULL) return;
    struct node own = *readable(root);
    __dsm_tdestroy(own.left, release);
    __dsm_tdestroy(own.right, release);
    release((void *)own.key);
    __dsm_free(root);
}
