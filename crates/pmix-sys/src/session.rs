//! Additions of later releases that a server here uses (the bindings are made from the header of 4.2): session
//! control, queries, allocation and spawn requests. By hand, from the PMIx standard and the public header; the keys are
//! texts, so that a client may pass those that its own release does not define yet. (The `PMIx_Session_control` of 5.0
//! only says that it is not supported; that of 6.0 and later comes here.)

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

/// (bool) A spawned job does not end with its parent.
pub const PMIX_SPAWN_CHILD_SEP: &CStr = c"pmix.spchildsep";

/// (number) `PMIx_Query_info`: free slots.
pub const PMIX_QUERY_AVAILABLE_SLOTS: &CStr = c"pmix.qry.aslots";

/// (array of processes) `PMIx_Query_info`: the processes of a job on a node; `PMIx_Resolve_peers` of 5.0 asks for it.
pub const PMIX_QUERY_RESOLVE_PEERS: &CStr = c"pmix.qry.peers";
/// (text) `PMIx_Query_info`: the nodes of a job; `PMIx_Resolve_nodes` of 5.0 asks for it.
pub const PMIX_QUERY_RESOLVE_NODE: &CStr = c"pmix.qry.node";

/// (text) `PMIx_Job_control`: makes the targets a process set with this name.
pub const PMIX_JOB_CTRL_DEFINE_PSET: &CStr = c"pmix.jctrl.defpset";

/// (bool) `PMIx_Job_control`: a running job no longer ends with its parent.
pub const PMIX_JOB_CTRL_SEP: &CStr = c"pmix.jctrl.sep";

/// (number of processes) `PMIx_Group_construct`: the members do not know each other.
pub const PMIX_GROUP_BOOTSTRAP: &CStr = c"pmix.grp.btstrp";

/// (number) Warn the requester so many seconds before the allocation's time is up.
pub const PMIX_ALLOC_WARN_TIMEOUT: &CStr = c"pmix.alloc.wtmo";
/// (bool) The nodes are for everybody, not for the requester alone.
pub const PMIX_ALLOC_SHARE: &CStr = c"pmix.alloc.share";
/// (bool) The allocation does not end with the one in which it was asked for.
pub const PMIX_ALLOC_CHILD_SEP: &CStr = c"pmix.alloc.sep";
/// (`PMIX_ALLOC_INHERIT`) What becomes of it when its owner ends.
pub const PMIX_ALLOC_INHERITANCE: &CStr = c"pmix.alloc.inhrt";
/// (text) The namespace for which it is.
pub const PMIX_ALLOC_TARGET: &CStr = c"pmix.alloc.tgt";
/// (text) Nodes that are not wanted.
pub const PMIX_ALLOC_EXCLUDE: &CStr = c"pmix.alloc.exclude";
/// (text) For how long released nodes are lent only.
pub const PMIX_ALLOC_LEND: &CStr = c"pmix.alloc.lend";
/// (text) When it is to begin.
pub const PMIX_ALLOC_BEGIN: &CStr = c"pmix.alloc.begin";
/// (text) What has to be over before it begins.
pub const PMIX_ALLOC_DEPENDENCY: &CStr = c"pmix.alloc.depend";
/// (text) A resource block.
pub const PMIX_ALLOC_RES_BLOCK: &CStr = c"pmix.alloc.blk";
/// Directive: a request is withdrawn.
pub const PMIX_ALLOC_REQ_CANCEL: u32 = 5;
/// Type of a value: how an allocation is inherited.
pub const PMIX_ALLOC_INHERIT: u32 = 75;
/// It is released with its owner.
pub const PMIX_ALLOC_INHERIT_NONE: i64 = 1;
/// It is released with the last job that its owner has spawned.
pub const PMIX_ALLOC_INHERIT_CHILD: i64 = 2;
/// It is everybody's when its owner has ended.
pub const PMIX_ALLOC_INHERIT_DEFAULT: i64 = 3;
/// It is everybody's when the last job that its owner has spawned has ended.
pub const PMIX_ALLOC_INHERIT_CHILD_DEFAULT: i64 = 4;

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
