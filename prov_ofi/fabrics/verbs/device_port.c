/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the identity and the state of a device's port, as the kernel reports them in /sys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabrics/verbs/device.h"

#define DEVICES "/sys/class/infiniband"
#define PORTS_MOST 8
/* Entries of a port's table of GIDs that are compared with the interface. */
#define GIDS_MOST 16

bool dofi_device_read_line(const char *path, char *line, int room)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, room, f);

	if (f)
		fclose(f);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

/* Reads a file of the port. False: there is none. */
static bool port_read(const struct dofi_fab *fab, unsigned int port, const char *file, char *line,
		      int room)
{
	char path[160];

	snprintf(path, sizeof(path), DEVICES "/%s/ports/%u/%s", fab->device, port, file);
	return dofi_device_read_line(path, line, room);
}

/* "4: ACTIVE" */
static bool port_state(const struct dofi_fab *fab, unsigned int port, char *state, size_t room)
{
	char line[64];
	const char *name;

	if (!port_read(fab, port, "state", line, sizeof(line)))
		return false;
	name = strchr(line, ' ');
	snprintf(state, room, "%.12s", name ? name + 1 : line);
	return true;
}

/* Over Ethernet the GIDs of a port name the interface. */
static bool port_has_interface(const struct dofi_fab *fab, unsigned int port)
{
	char file[48], netdev[64];

	for (int i = 0; i < GIDS_MOST; i++) {
		snprintf(file, sizeof(file), "gid_attrs/ndevs/%d", i);
		if (port_read(fab, port, file, netdev, sizeof(netdev)) &&
		    !strcmp(netdev, fab->netdev))
			return true;
	}
	return false;
}

/* Over InfiniBand the interface knows its port, counted from 0. */
static unsigned int port_of_interface(const struct dofi_fab *fab)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "/sys/class/net/%s/dev_port", fab->netdev);
	return dofi_device_read_line(path, line, sizeof(line))
		       ? (unsigned int)strtoul(line, NULL, 10) + 1
		       : 1;
}

static unsigned int port_find(const struct dofi_fab *fab)
{
	unsigned int port;
	char state[16];

	for (port = 1; port <= PORTS_MOST; port++)
		if (port_has_interface(fab, port))
			return port;
	port = port_of_interface(fab);
	return port_state(fab, port, state, sizeof(state)) ? port : 1;
}

void dofi_device_describe_port(struct dofi_fab *fab)
{
	struct dofi_fab_port *p = &fab->port;
	unsigned int port = port_find(fab);
	char path[128];

	snprintf(p->number, sizeof(p->number), "%u", port);
	if (!port_state(fab, port, p->state, sizeof(p->state)))
		snprintf(p->state, sizeof(p->state), "UNKNOWN");
	if (!port_read(fab, port, "gids/0", p->gid, sizeof(p->gid)))
		p->gid[0] = '\0';
	snprintf(path, sizeof(path), DEVICES "/%s/node_guid", fab->device);
	if (!dofi_device_read_line(path, p->node_guid, sizeof(p->node_guid)))
		p->node_guid[0] = '\0';
}
