//! The time of an answer, by the DVM's clock and by ours; it converts the DVM's times to ages and dates. Pure, except
//! for [`Moment::now`].

use std::time::{Duration, SystemTime};

use ferrite_wire::control::DvmStatus;

/// The time of an answer, by two clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The DVM that was asked.
    pub(crate) dvm: String,
    /// The time by the DVM's clock (microseconds since its start).
    pub(crate) dvm_us: u64,
    /// The time by our clock (since 1970).
    pub(crate) asked: Duration,
    /// The offset of our local time from UTC (seconds).
    pub(crate) zone_s: i64,
}

impl Moment {
    /// Returns the moment of a status that has just come.
    pub(crate) fn now(status: &DvmStatus) -> Moment {
        let asked = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Moment { dvm: status.dvm.clone(), dvm_us: status.now_us, asked, zone_s: ferrite_driver::zone_s() }
    }

    /// Returns a time of the DVM by our clock, in UTC.
    pub(crate) fn iso(&self, at_us: u64) -> String {
        iso(self.clock(at_us))
    }

    /// Returns a time of the DVM by our clock, as `2026-11-21 23:02:01` in local time.
    pub(crate) fn local(&self, at_us: u64) -> String {
        let local = self.clock(at_us).as_secs().saturating_add_signed(self.zone_s);
        iso(Duration::from_secs(local))[..19].replace('T', " ")
    }

    /// Returns the same without the date of today.
    pub(crate) fn short(&self, at_us: u64) -> String {
        let (then, now) = (self.local(at_us), self.local(self.dvm_us));
        let same_day = then[..10] == now[..10];
        if same_day { then[11..].to_owned() } else { then[5..16].to_owned() }
    }

    fn clock(&self, at_us: u64) -> Duration {
        self.asked.saturating_sub(Duration::from_micros(self.since_us(at_us)))
    }

    /// Returns how long ago that time was (microseconds).
    pub(crate) fn since_us(&self, at_us: u64) -> u64 {
        self.dvm_us.saturating_sub(at_us)
    }
}

/// Formats a time since 1970, as in `2026-11-21T23:02:01.250Z`.
pub(crate) fn iso(time: Duration) -> String {
    let (days, second) = (time.as_secs() / 86_400, time.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", time.subsec_millis())
}

/// Converts a number of days since 1970 to year, month and day; month and day count from 1.
fn date(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_knows_leap_years() {
        let dates = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in dates {
            assert_eq!(iso(Duration::from_secs(seconds)), text);
        }
        assert_eq!(iso(Duration::from_millis(1_250)), "1970-01-01T00:00:01.250Z");
    }

    #[test]
    fn times_of_the_dvm_are_told_by_our_clock() {
        let asked = Duration::from_secs(86_400 + 3_600);
        let moment = Moment { dvm: String::new(), dvm_us: 7_200_000_000, asked, zone_s: -1_800 };
        assert_eq!((moment.iso(0), moment.local(0)), ("1970-01-01T23:00:00.000Z".into(), "1970-01-01 22:30:00".into()));
        assert_eq!((moment.short(0), moment.short(7_000_000_000)), ("01-01 22:30".into(), "00:26:40".into()));
    }
}
