//! The limits of processes that parameter `prte_set_max_sys_limits` asks for.

/// A limit of the system that processes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysLimit {
    /// Size of a core file (bytes).
    Core,
    /// Size of a file that it writes (bytes).
    FileSize,
    /// Address space (bytes).
    Memory,
    /// Open files.
    OpenFiles,
    /// Stack (bytes).
    Stack,
    /// Processes of the user.
    Children,
}

/// The value of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysLimitValue {
    /// The most that the system allows the daemon.
    Most,
    /// This much.
    At(u64),
    /// No limit.
    Unlimited,
}

/// The words for limits.
const WORDS: [(&str, SysLimit); 6] = [
    ("core", SysLimit::Core),
    ("filesize", SysLimit::FileSize),
    ("maxmem", SysLimit::Memory),
    ("openfiles", SysLimit::OpenFiles),
    ("stack", SysLimit::Stack),
    ("maxchildren", SysLimit::Children),
];

impl SysLimit {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(_, limit)| *limit == self).map_or("", |(word, _)| word)
    }

    /// Reads a list as `core:0,openfiles:4096,stack:unlimited`; a word without a value means the most that is allowed.
    /// `max` (or yes) alone raises core, filesize, openfiles and maxchildren that far; `none` (or no) changes nothing.
    /// `None` = the list means nothing.
    #[must_use]
    pub fn parse_list(text: &str) -> Option<Vec<(SysLimit, SysLimitValue)>> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "no" | "false" | "0" => return Some(Vec::new()),
            "max" | "all" | "yes" | "true" | "1" | "unlimited" => {
                let all = [SysLimit::Core, SysLimit::FileSize, SysLimit::OpenFiles, SysLimit::Children];
                return Some(all.map(|limit| (limit, SysLimitValue::Most)).to_vec());
            }
            _ => {}
        }
        text.split(',').map(|item| parse_item(item.trim())).collect()
    }
}

fn parse_item(item: &str) -> Option<(SysLimit, SysLimitValue)> {
    let (word, value) = item.split_once(':').map_or((item, None), |(word, value)| (word, Some(value.trim())));
    let limit = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word.trim()))?.1;
    let value = match value {
        None | Some("max") => SysLimitValue::Most,
        Some("unlimited") => SysLimitValue::Unlimited,
        Some(number) => SysLimitValue::At(number.parse().ok()?),
    };
    Some((limit, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_limits() {
        let wanted = vec![
            (SysLimit::Core, SysLimitValue::At(0)),
            (SysLimit::OpenFiles, SysLimitValue::Most),
            (SysLimit::Stack, SysLimitValue::Unlimited),
        ];
        assert_eq!(SysLimit::parse_list("core:0, openfiles,stack:unlimited"), Some(wanted));
        assert_eq!(SysLimit::parse_list("none"), Some(Vec::new()));
        assert_eq!(SysLimit::parse_list("1").map(|all| all.len()), Some(4));
        for bad in ["files:3", "core:much", "core:-1", "core,,stack"] {
            assert_eq!(SysLimit::parse_list(bad), None, "{bad}");
        }
    }
}
