#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints what is wrong with a table of dat_info --calls --json.

usage: calls.py rows|tried|pages|attributes SOURCES TABLE SHOWN EXPORTS

  SHOWN    a folder with the output of dat_info -v ADAPTER --json per adapter
  EXPORTS  lines "LIBRARY SYMBOL"
"""
import json
import os
import re
import sys

what, sources, table, shown, exports = sys.argv[1:]
columns = json.load(open(table, encoding='utf-8'))['columns']
LIBRARY = {'1.2': 'libdat.so.1', '2.0': 'libdat2.so.2'}


def read(path):
    with open(os.path.join(sources, path), encoding='utf-8') as f:
        return f.read()


def title(column, call=None):
    text = '%s %s' % (column['adapter'], column['api'])
    if call:
        text += ' %s%s' % (call['call'], ': ' + call['use'] if call['use'] else '')
    return text


def answer(column, name, use=None):
    found = [c for c in column['calls'] if (c['call'], c['use']) == (name, use)]
    return found[0]['answer'] if found else None


def check_rows():
    """Each exported function, and each operation that the enumeration of the extension names."""
    exported = [line.split() for line in open(exports, encoding='utf-8')]
    header = read('include/dat2/dat_ib_extensions.h')
    enum = header[header.index('typedef enum dat_ib_op {'):header.index('} DAT_IB_OP;')]
    operations = re.findall(r'^\tDAT_IB_\w+_OP = .*/\* (dat_ib_\w+)\(\) \*/$', enum, re.M)
    if len(operations) != enum.count('_OP = ') or len(exported) < 140:
        print('the lists are incomplete: %d operations, %d functions' %
              (len(operations), len(exported)))
    for column in columns:
        wanted = {s for l, s in exported if l == LIBRARY[column['api']]}
        if column['api'] == '2.0':
            wanted |= set(operations)
        rows = {c['call'] for c in column['calls'] if not c['use'] and c['answer'] != 'absent'}
        rows -= {'dat_ib_post_recv_ud'}  # another name of dat_ep_post_recv
        for name in sorted(wanted ^ rows):
            print('%s: %s' % (title(column), name))


def check_tried():
    for column in columns:
        for call in column['calls']:
            if call['answer'] not in ('yes', 'no', 'absent') or not call['expected']:
                print(title(column, call), call['answer'], call['result'])


def check_pages():
    """The pages that the table names have the result; those about fabrics have words on it."""
    for column in columns:
        for call in column['calls']:
            if call['answer'] != 'no':
                continue
            pages = call['where'].split(', ')
            texts = [read(re.sub(r'(.*)\((\d)\)', r'man\2/\1.\2', p)) for p in pages]
            if pages[0][-1] != ')' or call['result'] not in texts[0]:
                print('%s: %s is not in %s' % (title(column, call), call['result'], pages[0]))
            if len(pages) < 2 or 'restrictions' not in pages[1]:
                print('%s: not in docs/restrictions.md' % title(column, call))


def facts_of(column):
    with open(os.path.join(shown, column['adapter']), encoding='utf-8') as f:
        return [a for a in json.load(f)['adapters'] if a['api'] == column['api']][0]


def check_attributes():
    for column in columns:
        facts = facts_of(column)
        named = facts['named_attributes']
        pairs = [
            ('dat_srq_create', None, facts['provider']['srq_supported']),
            ('dat_ep_connect', 'with a multipath flag', facts['provider']['supports_multipath']),
            ('dat_ep_connect', 'with a class of quality of service',
             facts['provider']['dat_qos_supported'] != 'best-effort'),
        ]
        if column['api'] == '2.0':
            pairs += [
                ('dat_lmr_create', 'zero-based, for peers', facts['adapter']['zb_supported']),
                ('dat_ib_post_fetch_and_add', None, named['DAT_IB_FETCH_AND_ADD'] == 'TRUE'),
                ('dat_ib_post_cmp_and_swap', None, named['DAT_IB_CMP_AND_SWAP'] == 'TRUE'),
                ('dat_ib_post_rdma_write_immed', None, named['DAT_IB_IMMED_DATA'] == 'TRUE'),
                ('dat_ib_post_send_ud', None, named['DAT_IB_UD'] == 'TRUE'),
                ('dat_ep_create', 'for datagrams', named['DAT_IB_UD'] == 'TRUE'),
                ('dat_ib_query_counters', None, named['DAT_COUNTERS'] == 'TRUE'),
            ]
            collectives = [n for n in named if n.startswith('DAT_COLL_')]
            if len(collectives) != 16:
                print('%s: %d attributes of collectives' % (title(column), len(collectives)))
            for name in collectives:
                pairs.append(('dat_ib_collective_' + name[len('DAT_COLL_'):].lower(), None,
                              named[name] == 'TRUE'))
        for name, use, true in pairs:
            if answer(column, name, use) != ('yes' if true else 'no'):
                print('%s: %s %s is %s, the attribute %s' %
                      (title(column), name, use or '', answer(column, name, use), true))


if not columns:
    print('no columns')
globals()['check_' + what]()
