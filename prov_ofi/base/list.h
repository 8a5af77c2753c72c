/* SPDX-License-Identifier: BSD-2-Clause */
/* Intrusive doubly linked lists. */
#ifndef DOFI_LIST_H
#define DOFI_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct dofi_list {
	struct dofi_list *next, *prev;
};

#define dofi_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define dofi_list_each(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)

/* The current node may be removed. */
#define dofi_list_each_safe(pos, tmp, head) \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

static inline void dofi_list_init(struct dofi_list *l)
{
	l->next = l->prev = l;
}

static inline bool dofi_list_empty(const struct dofi_list *l)
{
	return l->next == l;
}

static inline void dofi_list_append(struct dofi_list *head, struct dofi_list *node)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void dofi_list_prepend(struct dofi_list *head, struct dofi_list *node)
{
	dofi_list_append(head->next, node);
}

/* Leaves the node empty, so that it may be removed again and checked with dofi_list_empty. */
static inline void dofi_list_remove(struct dofi_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	dofi_list_init(node);
}

static inline void *dofi_list_take(struct dofi_list *head, size_t offset)
{
	struct dofi_list *node = head->next;

	if (node == head)
		return NULL;
	dofi_list_remove(node);
	return (char *)node - offset;
}

/* Removes the first node and returns its object; NULL: the list is empty. */
#define dofi_list_pop(head, type, member) ((type *)dofi_list_take(head, offsetof(type, member)))

/* Moves all nodes to another list, which is not initialised yet. */
static inline void dofi_list_move(struct dofi_list *from, struct dofi_list *to)
{
	dofi_list_init(to);
	if (dofi_list_empty(from))
		return;
	*to = *from;
	to->next->prev = to->prev->next = to;
	dofi_list_init(from);
}

#endif
