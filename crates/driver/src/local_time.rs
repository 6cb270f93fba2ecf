//! The local time of the user, for dates in front of output.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns local time in seconds since 1970: the offset from UTC is added.
pub(crate) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |d| d.as_secs() as i64);
    seconds + offset_s(seconds)
}

/// Returns the offset of local time from UTC (seconds, positive to the east) now.
#[must_use]
pub fn zone_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    offset_s(since.map_or(0, |d| d.as_secs() as i64))
}

fn offset_s(at: i64) -> i64 {
    let mut broken_down = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid for the call; zeros are a valid `tm` should it fail, with an offset of zero.
    unsafe {
        libc::localtime_r(&(at as _), broken_down.as_mut_ptr());
        broken_down.assume_init().tm_gmtoff
    }
}
