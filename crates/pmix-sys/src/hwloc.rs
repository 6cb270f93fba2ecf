//! hwloc, by which the machine's topology is found for the processes of jobs. `ferrite-pmixd --topology` calls it, in a
//! process that does nothing else.

use std::os::raw::{c_char, c_int, c_uint, c_ulong, c_void};

use crate::Library;

/// The name that all releases of hwloc 2 have in common. Their XML is read by all of them.
const SONAME: &str = "libhwloc.so.15";
/// `HWLOC_TYPE_FILTER_KEEP_IMPORTANT`: MPI libraries and clients of PMIx look for these devices when they look
/// themselves.
const KEEP_IMPORTANT: c_int = 3;
/// The part of a version that says which interface it is.
const MAJOR: c_uint = 0xff_0000;

/// Finds the topology of this machine, as an MPI library does it, and returns it in the XML of hwloc 2.
///
/// # Errors
/// There is no hwloc 2, or it fails: the reason in words.
pub fn topology_xml() -> Result<Vec<u8>, String> {
    // libpmix may have brought along an hwloc that the loader finds only beside it.
    open().or_else(|reason| match Library::open() {
        Ok(_libpmix) => open(),
        Err(_) => Err(reason),
    })
}

/// Opens the library and lets it look.
fn open() -> Result<Vec<u8>, String> {
    // SAFETY: loading runs the library's constructors, and hwloc is made to be loaded into any process.
    let library = unsafe { libloading::Library::new(SONAME) }.map_err(|error| error.to_string())?;
    // SAFETY: the signatures are those of hwloc 2, which is asked first. The topology is not used after a failure, and
    // the buffer is copied while the library still owns it; the process ends before either would be freed.
    let xml = unsafe {
        let version = library.get::<unsafe extern "C" fn() -> c_uint>(b"hwloc_get_api_version\0");
        let version = version.map_err(|error| error.to_string())?();
        if version & MAJOR != 0x2_0000 {
            return Err(format!("{SONAME} has interface {version:#x}, and not that of hwloc 2"));
        }
        look(&library)
    };
    // A plug-in may have started threads, so the code stays.
    std::mem::forget(library);
    xml
}

/// # Safety
/// `library` is hwloc 2.
unsafe fn look(library: &libloading::Library) -> Result<Vec<u8>, String> {
    type Topology = *mut c_void;
    let missing = |error: libloading::Error| error.to_string();
    let done = |what: &str, code: c_int| match code {
        0 => Ok(()),
        _ => Err(format!("{SONAME}: {what} fails: {}", std::io::Error::last_os_error())),
    };
    let (mut topology, mut text, mut length) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: the caller says so; each function gets what it documents, and `length` bytes are at `text` after a
    // success.
    unsafe {
        let init = library.get::<unsafe extern "C" fn(*mut Topology) -> c_int>(b"hwloc_topology_init\0");
        let keep = library
            .get::<unsafe extern "C" fn(Topology, c_int) -> c_int>(b"hwloc_topology_set_io_types_filter\0")
            .map_err(missing)?;
        let load = library.get::<unsafe extern "C" fn(Topology) -> c_int>(b"hwloc_topology_load\0").map_err(missing)?;
        let export = library
            .get::<unsafe extern "C" fn(Topology, *mut *mut c_char, *mut c_int, c_ulong) -> c_int>(
                b"hwloc_topology_export_xmlbuffer\0",
            )
            .map_err(missing)?;
        done("hwloc_topology_init", init.map_err(missing)?(&mut topology))?;
        done("hwloc_topology_set_io_types_filter", keep(topology, KEEP_IMPORTANT))?;
        done("hwloc_topology_load", load(topology))?;
        done("hwloc_topology_export_xmlbuffer", export(topology, &mut text, &mut length, 0))?;
        let length = usize::try_from(length).map_err(|error| error.to_string())?;
        let xml = std::slice::from_raw_parts(text.cast::<u8>(), length);
        // The length counts the NUL at the end.
        Ok(xml.split(|byte| *byte == 0).next().unwrap_or_default().to_vec())
    }
}
