//! Bindings of libpmix: its types, constants, and a table of the functions that a server needs.
//!
//! The library is opened at run time ([`Library::open`]), never linked: a job that needs no PMIx does not
//! pay for it, one binary runs on every 4.2 and 5.x release, and its absence is an error that names the
//! package instead of a program that does not start. Only `ferrite-pmix` uses this crate. It never calls
//! a function of PMIx by itself, except to ask for the version.

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_op_in_unsafe_fn,
    unreachable_pub,
    clippy::all,
    clippy::unwrap_used
)]
mod bindings;
mod library;

pub use bindings::*;
pub use library::{Library, OpenError, Version, search_path};

/// The server module with room behind it. Releases after 4.2 append entries, and the library reads as
/// many as its own header has: zeroes there mean "not offered".
#[repr(C)]
pub struct PaddedModule {
    /// The entries of 4.2.
    pub module: pmix_server_module_t,
    /// Entries that newer releases read; all null.
    pub padding: [usize; 16],
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    // bindgen's own assertions compare with the header that was read; these compare with what both
    // supported releases were seen to use, so that a regeneration from a wrong header is noticed.
    #[test]
    fn layouts_are_those_of_4_2_and_5_0() {
        assert_eq!(size_of::<pmix_proc_t>(), 260);
        assert_eq!(size_of::<pmix_value_t>(), 32);
        assert_eq!(size_of::<pmix_info_t>(), 552);
        assert_eq!(offset_of!(pmix_info_t, value), 520);
        assert_eq!(size_of::<pmix_data_array_t>(), 24);
        assert_eq!(size_of::<pmix_query_t>(), 24);
        assert_eq!(size_of::<pmix_server_module_t>(), 224);
        assert!(size_of::<PaddedModule>() >= 232, "5.0 reads 232 bytes");
    }

    #[test]
    fn constants_have_the_values_of_the_abi() {
        assert_eq!(PMIX_RANK_WILDCARD, u32::MAX - 1);
        assert_eq!(PMIX_ERR_NOT_SUPPORTED, -47);
        assert_eq!(PMIX_OPERATION_SUCCEEDED, -157);
        assert_eq!(PMIX_JOB_SIZE, c"pmix.job.size");
    }
}
