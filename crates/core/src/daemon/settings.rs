//! A daemon's settings, read from parameters.

use ferrite_rm::params::Params;
use ferrite_types::Duration;

/// The time after which a daemon without an uplink gives up, where `prte_connect_max_time` says none (milliseconds).
const ALONE_MS: u64 = 30_000;

/// The settings of a daemon, from parameters. The head has refused bad values at its start; here they count as not set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The silence after which a link is lost; zero = never.
    pub(super) silence: Duration,
    /// The time after which a daemon without an uplink gives up (milliseconds, `prte_connect_max_time`).
    pub(super) alone_ms: u64,
    /// Bytes of output of a job that may be on their way from this daemon to the head (`iof_base_output_limit`).
    pub(super) output_limit: usize,
}

impl Settings {
    /// The settings that these parameters make.
    pub(crate) fn by(settings: &[(String, String)], silence: Duration) -> Settings {
        let mut params = Params::default();
        settings.iter().for_each(|(name, value)| params.set(name, value));
        let alone_ms = params.number("prte_connect_max_time").ok().filter(|seconds| *seconds > 0);
        let limit = params.signed("iof_base_output_limit").ok().and_then(|bytes| usize::try_from(bytes).ok());
        Settings {
            silence,
            alone_ms: alone_ms.map_or(ALONE_MS, |seconds| u64::from(seconds) * 1_000),
            output_limit: limit.filter(|bytes| *bytes > 0).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_change_what_holds_without_them() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            let Settings { alone_ms, output_limit, .. } = Settings::by(&pairs, Duration(0));
            (alone_ms, output_limit)
        };
        assert_eq!(of(&[]), (30_000, 2_147_483_647));
        assert_eq!(of(&[("prte_connect_max_time", "7"), ("iof_output_limit", "5000")]), (7_000, 5_000));
    }
}
