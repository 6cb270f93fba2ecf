//! No `--map-by`, `--rank-by` or `--bind-to` makes its parser panic; one piece joins to itself, and qualifiers that are
//! kept apart mean what they mean together.
#![no_main]

use ferrite_map::directive::{join, parse_bind_to, parse_map_by, parse_rank_by};
use ferrite_types::MapBy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_rank_by(text);
    let _ = parse_bind_to(text);
    assert_eq!(join("--map-by", &[text.to_owned()]), Ok(Some(text.to_owned())));
    if let Ok(map) = parse_map_by(text) {
        let of_file = matches!(map.by, Some(MapBy::Seq(_) | MapBy::RankFile(_)));
        assert!(of_file || map.file.is_none(), "{text:?} has a file that nobody reads");
        let pieces = [text.to_owned(), ":NOLOCAL".to_owned()];
        let joined = join("--map-by", &pieces).unwrap().unwrap();
        let both = parse_map_by(&joined).unwrap();
        assert_eq!((both.by, both.file, both.nolocal), (map.by, map.file, true), "{joined:?}");
    }
});
