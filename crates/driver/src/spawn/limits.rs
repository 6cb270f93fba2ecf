//! Limits of the system that processes of jobs get (`prte_set_max_sys_limits`).

use std::fmt;

use ferrite_rm::params::{SysLimit, SysLimitValue};

/// One limit to set in a child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    what: SysLimit,
    to: SysLimitValue,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self.to {
            SysLimitValue::Most => "max".to_owned(),
            SysLimitValue::At(value) => value.to_string(),
            SysLimitValue::Unlimited => "unlimited".to_owned(),
        };
        write!(f, "{}:{value}", self.what.word())
    }
}

/// The limits of a list. A bad list counts as not given; the head has already reported it.
pub(super) fn asked_for(list: &str) -> Vec<Limit> {
    let list = Some(list).filter(|list| !list.is_empty()).and_then(SysLimit::parse_list).unwrap_or_default();
    list.into_iter().map(|(what, to)| Limit { what, to }).collect()
}

impl Limit {
    /// Sets the limit of this process. A value above the hard limit raises that as well, which needs the privilege.
    ///
    /// # Safety
    /// None beyond that of its system calls; it may be called between clone and exec, because it neither allocates nor
    /// locks.
    #[allow(unsafe_code)]
    pub(super) unsafe fn set(self) -> bool {
        let resource = match self.what {
            SysLimit::Core => libc::RLIMIT_CORE,
            SysLimit::FileSize => libc::RLIMIT_FSIZE,
            SysLimit::Memory => libc::RLIMIT_AS,
            SysLimit::OpenFiles => libc::RLIMIT_NOFILE,
            SysLimit::Stack => libc::RLIMIT_STACK,
            SysLimit::Children => libc::RLIMIT_NPROC,
        };
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls get a valid structure of ours.
        unsafe {
            if libc::getrlimit(resource, &mut limit) != 0 {
                return false;
            }
            limit.rlim_cur = match self.to {
                SysLimitValue::Most => limit.rlim_max,
                SysLimitValue::At(value) => value,
                SysLimitValue::Unlimited => libc::RLIM_INFINITY,
            };
            limit.rlim_max = limit.rlim_max.max(limit.rlim_cur);
            libc::setrlimit(resource, &limit) == 0
        }
    }
}
