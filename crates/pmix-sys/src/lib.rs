//! Bindings of libpmix: its types, constants, and a table of the functions that a server needs.
//!
//! The library is opened at run time ([`Library::open`]), never linked: a job that needs no PMIx does not
//! pay for it, one binary runs on every release from 4.2 to 7.x, and its absence is an error that names the
//! package instead of a program that does not start. Only `ferrite-pmix` uses this crate. It never calls
//! a function of PMIx by itself, except to ask for the version.

use std::os::raw::c_void;

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
mod hwloc;
mod library;
mod session;

pub use bindings::*;
pub use hwloc::topology_xml;
pub use library::{LIBPMIX_ENV, Library, OpenError, Version, search_path};
pub use session::*;

/// The server module with room behind it. Releases after 4.2 append entries, and the library reads as
/// many as its own header has: null there means "not offered".
#[repr(C)]
pub struct PaddedModule {
    /// The entries of 4.2.
    pub module: pmix_server_module_t,
    /// Those of newer releases, which differ from one major release to the next.
    appended: [*const c_void; 16],
}

impl PaddedModule {
    /// Without any entry.
    pub fn empty() -> Self {
        // SAFETY: the module is a struct of optional function pointers, for which zero is `None`.
        Self { module: unsafe { std::mem::zeroed() }, appended: [std::ptr::null(); 16] }
    }

    /// Sets the entry for `PMIx_Session_control`, where that release has it.
    pub fn set_session_control(&mut self, version: Version, upcall: SessionControlFn) {
        if let Some(at) = session_control_at(version) {
            self.appended[at] = upcall as *const c_void;
        }
    }
}

/// The number of the appended entry: 5.0 has no other one, 6.0 put `tool_connected2` and `log2` before it.
fn session_control_at(version: Version) -> Option<usize> {
    match version.major {
        ..=4 => None,
        5 => Some(0),
        6.. => Some(2),
    }
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
        assert_eq!(offset_of!(PaddedModule, appended), 224);
        assert!(size_of::<PaddedModule>() >= 256, "5.0 reads 232 bytes, 7.0 reads 256");
    }

    #[test]
    fn the_entry_for_session_control_is_where_the_release_looks_for_it() {
        let of = |major| Version { major, minor: 0, release: 0 };
        let offset = |major| session_control_at(of(major)).map(|at| offset_of!(PaddedModule, appended) + 8 * at);
        assert_eq!([4, 5, 6, 7].map(offset), [None, Some(224), Some(240), Some(240)]);
    }

    #[test]
    fn constants_have_the_values_of_the_abi() {
        assert_eq!(PMIX_RANK_WILDCARD, u32::MAX - 1);
        assert_eq!(PMIX_ERR_NOT_SUPPORTED, -47);
        assert_eq!(PMIX_OPERATION_SUCCEEDED, -157);
        assert_eq!(PMIX_JOB_SIZE, c"pmix.job.size");
    }
}
