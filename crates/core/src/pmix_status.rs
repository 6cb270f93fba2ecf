//! PMIx status codes with which requests are refused or fail (PMIx standard, status codes).

/// A request that makes no sense.
pub(crate) const PMIX_ERR_BAD_PARAM: i32 = -27;
/// A node that is reserved for others.
pub(crate) const PMIX_ERR_NO_PERMISSIONS: i32 = -23;
/// There are not so many nodes.
pub(crate) const PMIX_ERR_OUT_OF_RESOURCE: i32 = -29;
/// A node or an allocation that is not known.
pub(crate) const PMIX_ERR_NOT_FOUND: i32 = -46;
/// It took too long.
pub(crate) const PMIX_ERR_TIMEOUT: i32 = -24;
/// A daemon was lost.
pub(crate) const PMIX_ERR_LOST_CONNECTION: i32 = -61;
/// A daemon could not be started.
pub(crate) const PMIX_ERR_JOB_FAILED_TO_LAUNCH: i32 = -181;
/// The DVM is ending.
pub(crate) const PMIX_ERR_UNREACH: i32 = -25;
