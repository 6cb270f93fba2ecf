#!/bin/sh
# Writes src/bindings.rs anew from the headers of libpmix 4.2 (Debian 12: libpmix-dev).
# Needs `cargo install bindgen-cli` and libclang. Users never run this: the result is committed.
set -eu
cd "$(dirname "$0")"
include=${PMIX_INCLUDE:-/usr/lib/x86_64-linux-gnu/pmix2/include}
functions='PMIx_(Get|Get_version|Error_string|Notify_event|Register_event_handler|Value_load|Value_destruct|generate_regex|generate_ppn)'
server='PMIx_server_(init|finalize|register_nspace|deregister_nspace|register_client|deregister_client|setup_fork|dmodex_request|IOF_deliver|define_process_set|delete_process_set)'
{
    echo "// Made by regenerate.sh from the headers of libpmix 4.2; do not edit."
    bindgen wrapper.h \
        --rust-target 1.85 --rust-edition 2024 --generate-cstr --no-doc-comments \
        --disable-header-comment --default-enum-style consts \
        --dynamic-loading Functions --dynamic-link-require-all \
        --allowlist-function "$functions" --allowlist-function "$server" \
        --allowlist-var 'PMIX_.*' \
        --allowlist-type 'pmix_server_module_t' --allowlist-type 'pmix_value_t' \
        -- -I"$include"
} > src/bindings.rs
