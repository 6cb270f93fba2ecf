//! What later releases add to 4.2, whose header the bindings are made from, and what a server here uses of it: session control. By hand,
//! from the PMIx standard and the public header; the keys are texts, so that a client may pass those that its own release does not
//! define yet. (The `PMIx_Session_control` of 5.0 only says that it is not supported; that of 6.0 and later comes here.)

use std::ffi::CStr;
use std::os::raw::c_void;

use crate::{pmix_info_cbfunc_t, pmix_info_t, pmix_proc_t, pmix_status_t};

/// The upcall for `PMIx_Session_control`: requestor, session, directives and their number, and whom to answer.
pub type SessionControlFn = unsafe extern "C" fn(
    requestor: *const pmix_proc_t,
    session: u32,
    directives: *const pmix_info_t,
    ndirs: usize,
    cbfunc: pmix_info_cbfunc_t,
    cbdata: *mut c_void,
) -> pmix_status_t;

/// (text) A name for the request.
pub const PMIX_SESSION_CTRL_ID: &CStr = c"pmix.ssnctrl.id";
/// (bool) Make the session.
pub const PMIX_SESSION_INSTANTIATE: &CStr = c"pmix.ssn.inst";
/// (array of infos) What a session that is to be made consists of.
pub const PMIX_SESSION_RESOURCES: &CStr = c"pmix.ssn.res";
/// (array of infos) How the programs of a session that is to be made are to run.
pub const PMIX_SESSION_JOB: &CStr = c"pmix.ssn.job";
/// (array of apps) Programs that are to run in a session that is to be made.
pub const PMIX_SESSION_APP: &CStr = c"pmix.ssn.app";
/// (bool) Provision nodes; 5.0 only.
pub const PMIX_SESSION_PROVISION: &CStr = c"pmix.ssn.pvn";
/// (text) Nodes to provision.
pub const PMIX_SESSION_PROVISION_NODES: &CStr = c"pmix.ssn.pvnnds";
/// (text) The image with which to provision them.
pub const PMIX_SESSION_PROVISION_IMAGE: &CStr = c"pmix.ssn.pvnimg";
/// (bool) Stop the session's processes.
pub const PMIX_SESSION_PAUSE: &CStr = c"pmix.ssn.pause";
/// (bool) Let them go on.
pub const PMIX_SESSION_RESUME: &CStr = c"pmix.ssn.resume";
/// (bool) End the session's jobs and take its nodes back.
pub const PMIX_SESSION_TERMINATE: &CStr = c"pmix.ssn.terminate";
/// (bool) Take the resources of some of its jobs back for a while.
pub const PMIX_SESSION_PREEMPT: &CStr = c"pmix.ssn.preempt";
/// (bool) Give them to these jobs again.
pub const PMIX_SESSION_RESTORE: &CStr = c"pmix.ssn.restore";
/// (int) Signal the session's processes.
pub const PMIX_SESSION_SIGNAL: &CStr = c"pmix.ssn.sig";
/// (bool) Let the session outlive its parent.
pub const PMIX_SESSION_SEP: &CStr = c"pmix.ssn.sep";
/// (bool) More time, or more resources, as other infos say.
pub const PMIX_SESSION_EXTEND: &CStr = c"pmix.ssn.xtend";
/// (bool) The session has ended; the run-time's word to a scheduler.
pub const PMIX_SESSION_COMPLETE: &CStr = c"pmix.ssn.complete";
