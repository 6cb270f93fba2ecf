//! PMIx status codes with which requests are refused or fail (PMIx standard, status codes).

/// A request that makes no sense.
pub(crate) const PMIX_ERR_BAD_PARAM: i32 = -27;
/// A key that is published already.
pub(crate) const PMIX_ERR_DUPLICATE_KEY: i32 = -53;
/// It can be done in general, and not here and now.
pub(crate) const PMIX_ERR_INVALID_OPERATION: i32 = -158;
/// It is there already.
pub(crate) const PMIX_ERR_EXISTS: i32 = -11;
/// The job, or the request, was ended before it began.
pub(crate) const PMIX_ERR_JOB_CANCELED: i32 = -180;
/// A process, or a daemon, could not be started.
pub(crate) const PMIX_ERR_JOB_FAILED_TO_LAUNCH: i32 = -181;
/// The job cannot be placed.
pub(crate) const PMIX_ERR_JOB_FAILED_TO_MAP: i32 = -179;
/// The job was ended by request.
pub(crate) const PMIX_ERR_JOB_KILLED_BY_CMD: i32 = -183;
/// A participant, or a daemon, is gone.
pub(crate) const PMIX_ERR_LOST_CONNECTION: i32 = -61;
/// No such thing.
pub(crate) const PMIX_ERR_NOT_FOUND: i32 = -46;
/// Not here.
pub(crate) const PMIX_ERR_NOT_SUPPORTED: i32 = -47;
/// It is for others.
pub(crate) const PMIX_ERR_NO_PERMISSIONS: i32 = -23;
/// There is not so much of it.
pub(crate) const PMIX_ERR_OUT_OF_RESOURCE: i32 = -29;
/// It took too long.
pub(crate) const PMIX_ERR_TIMEOUT: i32 = -24;
/// The DVM is ending.
pub(crate) const PMIX_ERR_UNREACH: i32 = -25;
