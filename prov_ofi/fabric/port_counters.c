/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the counters of ports, devices and network interfaces in /sys. */
#include <inttypes.h>
#include <stdio.h>

#include "fabric/port_counters.h"

#define DIRS 4

/* Names of the files: of InfiniBand ports and the first drivers of devices, of other drivers
 * (mlx5, rxe), of network interfaces. */
static const char *const counter_files[DOFI_PORT_COUNTERS][3] = {
	{ "port_rcv_errors", "rx_errors" },
	{ "port_rcv_remote_physical_errors" },
	{ "port_rcv_constraint_errors" },
	{ "port_xmit_discards", "tx_dropped" },
	{ "port_xmit_constraint_errors" },
	{ "local_link_integrity_errors", "rx_crc_errors" },
	{ "excessive_buffer_overrun_errors", "rx_over_errors" },
	{ "port_rcv_switch_relay_errors" },
	{ "port_xmit_wait" },
	{ "rq_num_rae", "resp_remote_access_errors" },
	{ "rq_num_oos", "out_of_sequence", "out_of_seq_request" },
	{ "rq_num_rire" },
	{ "rq_num_udsdprd" },
	{ "sq_num_rae", "req_remote_access_errors" },
	{ "sq_num_oos", "packet_seq_err", "rcvd_seq_err" },
	{ "sq_num_rire", "req_remote_invalid_request" },
	{ "sq_num_rree", "req_rnr_retries_exceeded", "retry_rnr_exceeded_err" },
	{ "sq_num_tree", "req_transport_retries_exceeded", "retry_exceeded_err" },
};

static bool counter_read(const char *dir, const char *file, uint64_t *to)
{
	char path[256];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%.159s/%.80s", dir, file);
	f = fopen(path, "re");
	got = f && fscanf(f, "%" SCNu64, to) == 1;
	if (f)
		fclose(f);
	return got;
}

void dofi_read_port_counters(const struct dofi_fab *fab, uint64_t *to)
{
	char dirs[DIRS][160];
	int n = 0;

	if (fab->device[0]) {
		snprintf(dirs[n++], sizeof(*dirs), "/sys/class/infiniband/%s/ports/%s/counters",
			 fab->device, fab->port.number);
		snprintf(dirs[n++], sizeof(*dirs), "/sys/class/infiniband/%s/ports/%s/hw_counters",
			 fab->device, fab->port.number);
		snprintf(dirs[n++], sizeof(*dirs), "/sys/class/infiniband/%s/hw_counters",
			 fab->device);
	}
	snprintf(dirs[n++], sizeof(*dirs), "/sys/class/net/%s/statistics", fab->netdev);
	for (int i = 0; i < DOFI_PORT_COUNTERS; i++) {
		bool got = false;

		to[i] = 0;
		for (int d = 0; d < n && !got; d++)
			for (int name = 0; name < 3 && counter_files[i][name] && !got; name++)
				got = counter_read(dirs[d], counter_files[i][name], &to[i]);
	}
}
