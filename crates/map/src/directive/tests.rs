//! Examples of directives, with the resulting messages.

use ferrite_types::{CpuSet, DeviceKind, DeviceRequest, DeviceWanted, PeList};

use super::*;

fn by(text: &str) -> MapBy {
    parse_map_by(text).unwrap().by.unwrap()
}

#[test]
fn words_are_case_insensitive_and_may_be_shortened() {
    assert_eq!(by("SLOT"), MapBy::Slot);
    assert_eq!(by("sl"), MapBy::Slot);
    assert_eq!(by("c"), MapBy::Object(ObjectKind::Core));
    assert_eq!(by("L2"), MapBy::Object(ObjectKind::L2Cache));
    assert_eq!(by("socket"), MapBy::Object(ObjectKind::Package));
    assert_eq!(by("ppr:2:node"), MapBy::PerNode(2));
    assert_eq!(by("ppr:3:pack"), MapBy::PerObject(3, ObjectKind::Package));
    let MapBy::PerDevice(2, gpus) = by("ppr:2:Device=gpu:interleave") else { panic!("no devices") };
    assert_eq!((gpus.wanted, gpus.interleave), (DeviceWanted::Kind(DeviceKind::Gpu), Some(ObjectKind::Package)));
    assert_eq!(parse_rank_by("Span"), Ok(RankBy::Span));
    assert_eq!(parse_bind_to("core").unwrap().to, Some(BindTo::Object(ObjectKind::Core)));
}

#[test]
fn every_qualifier_has_its_place() {
    let map = parse_map_by("pack:pe=2:SPAN,over:nolocal:hwt:inh").unwrap();
    let wanted = MapDirective {
        by: Some(MapBy::Object(ObjectKind::Package)),
        pes: Some(2),
        span: true,
        oversubscribe: Some(true),
        nolocal: true,
        cpus: Some(CpuKind::HwThread),
        inherit: Some(true),
        file: None,
        display: false,
    };
    assert_eq!(map, wanted);
    let map = parse_map_by(":noover:core:noinh").unwrap();
    assert_eq!((map.by, map.oversubscribe, map.inherit), (None, Some(false), Some(false)));
    assert_eq!(map.cpus, Some(CpuKind::Core));
    let bind = parse_bind_to("numa:OVERLOAD,if-s:limit=2:report").unwrap();
    let to = Some(BindTo::Object(ObjectKind::Numa));
    assert_eq!(bind, BindDirective { to, overload: Some(true), if_supported: true, limit: Some(2), report: true });
    assert_eq!(parse_bind_to(":report").unwrap(), BindDirective { report: true, ..BindDirective::default() });
}

#[test]
fn a_list_of_processors_keeps_its_commas() {
    let cpus: CpuSet = [0, 3, 5, 6].into_iter().collect();
    assert_eq!(by("pe-list=0,3,5-6"), MapBy::PeList(PeList { cpus: cpus.clone(), ordered: false }));
    assert_eq!(by("PE-L=0,3,5-6:ord,nolocal"), MapBy::PeList(PeList { cpus, ordered: true }));
}

#[test]
fn the_name_of_a_file_keeps_its_case_and_ends_at_the_next_colon() {
    let file = |text| parse_map_by(text).unwrap().file;
    assert_eq!(file("seq"), None);
    assert_eq!(file("seq:FILE=/Home/a,b=C"), Some("/Home/a,b=C".to_owned()));
    assert_eq!(file("rankfile:over,file=My Ranks:nolocal"), Some("My Ranks".to_owned()));
    assert!(parse_map_by("rank:fi=R:nolocal").unwrap().nolocal);
}

#[test]
fn devices_are_kinds_or_names() {
    let device = |wanted| DeviceRequest { wanted, interleave: None, shared: false, per_process: 1 };
    let network = device(DeviceWanted::Kind(DeviceKind::Network));
    for text in ["device=network", "device=NIC", "dev=fabric", "device=openfabrics"] {
        assert_eq!(by(text), MapBy::Device(network.clone()), "{text}");
    }
    assert_eq!(by("device=GPU-1a"), MapBy::Device(device(DeviceWanted::Named("GPU-1a".to_owned()))));
    let all = DeviceRequest { interleave: Some(ObjectKind::Numa), shared: true, per_process: 2, ..network };
    assert_eq!(by("device=nic:interleave=numa:ndev=2:shared"), MapBy::Device(all));
    let MapBy::Device(usual) = by("device=block:int:sh=no") else { panic!("no device") };
    assert_eq!((usual.interleave, usual.shared), (Some(ObjectKind::Package), false));
}

#[test]
fn qualifiers_may_stand_alone_and_leave_the_rest_of_a_request_alone() {
    let mut request = MapRequest { by: Some(MapBy::Node), ..MapRequest::default() };
    parse_map_by(":over:nolocal").unwrap().apply(&mut request);
    assert_eq!((request.by.clone(), request.oversubscribe, request.nolocal), (Some(MapBy::Node), Some(true), true));
    parse_bind_to("none").unwrap().apply(&mut request);
    assert_eq!(request.bind_to, Some(BindTo::None));
    parse_bind_to(":overload-allowed,if-supported").unwrap().apply(&mut request);
    let wanted = (Some(BindTo::None), Some(true), true);
    assert_eq!((request.bind_to, request.overload, request.bind_if_supported), wanted);
}

#[test]
fn a_default_fills_what_is_open_and_can_be_had() {
    let default = parse_map_by("package:span:pe=2:hwtcpus:over").unwrap();
    let mut request = MapRequest { by: Some(MapBy::Slot), oversubscribe: Some(false), ..MapRequest::default() };
    default.fill(&mut request);
    assert_eq!((request.by.clone(), request.span, request.pes), (Some(MapBy::Slot), false, Some(2)));
    assert_eq!((request.oversubscribe, request.cpus), (Some(false), Some(CpuKind::HwThread)));
    let mut request = MapRequest { by: Some(by("pe-list=0")), ..MapRequest::default() };
    default.fill(&mut request);
    assert_eq!(request.pes, None);
    let mut request = MapRequest::default();
    default.fill(&mut request);
    assert_eq!((request.by, request.span), (Some(MapBy::Object(ObjectKind::Package)), true));
    let mut request = MapRequest { bind_to: Some(BindTo::None), ..MapRequest::default() };
    parse_bind_to("core:limit=2:overload").unwrap().fill(&mut request);
    assert_eq!((request.bind_to, request.bind_limit, request.overload), (Some(BindTo::None), None, Some(true)));
}

#[test]
fn pieces_become_one_directive() {
    let joined = |pieces: &[&str]| {
        let pieces: Vec<String> = pieces.iter().map(ToString::to_string).collect();
        join("--map-by", &pieces).map_err(|e| e.to_string())
    };
    assert_eq!(joined(&[]), Ok(None));
    assert_eq!(joined(&[""]), Ok(Some(String::new())));
    assert_eq!(joined(&[":over", "seq:file=a,b", ":pe=2"]), Ok(Some("seq:over:file=a,b:pe=2".to_owned())));
    assert_eq!(joined(&["ppr:2:node", "PPR:2:node:over"]), Ok(Some("ppr:2:node:over".to_owned())));
    assert_eq!(joined(&["pe-list=0,1:ordered", ":over"]), Ok(Some("pe-list=0,1:ordered:over".to_owned())));
    insta::assert_snapshot!(joined(&["core", "ppr:1:node"]).unwrap_err());
}

const BAD: &[&str] = &[
    "",
    ":",
    "slto",
    "n",
    "p",
    "span",
    "pe=2",
    "nodes",
    "core=3",
    "ppr",
    "ppr=2",
    "ppr:0:node",
    "ppr:2",
    "ppr:2:rack",
    "ppr:2:device",
    "ppr:2:device=cuda0",
    "ppr:2:device=gpu:ndev=2",
    "ppr:2:device=gpu:shared",
    "rankfile",
    "seq:FILE",
    "seq:FILE=",
    "core:FILE=x",
    ":FILE=x",
    "pe-list",
    "pe-list=",
    "pe-list=a",
    "pe-list=5-3",
    "pe-list=0-99999999",
    "pe-list=0,ORDERED",
    "pe-list=0:PE=2",
    "rankfile:FILE=x:PE=2",
    "core:ordered",
    "core:PE",
    "core:PE=0",
    "core:PE=99999999999",
    "core:PE=2:PE=3",
    "core:span=false",
    "core:s",
    "core:spanish",
    "slot:pee=2",
    "ppr:2:numa:span",
    "seq:span",
    "core:over:noover",
    "core:hwtcpus:corecpus",
    "core:inherit:noinherit",
    "slot:",
    "device",
    "device=gpu,ndev=2",
    "device=gpu:ndev=0",
    "device=gpu:shared=perhaps",
    "device=gpu:interleave=node",
    "device=gpu:interleave=l",
    "core:shared",
    ":ndev=2",
];

#[test]
fn each_refusal_says_what_is_valid() {
    let mut all: Vec<String> = BAD.iter().map(|t| parse_map_by(t).unwrap_err().to_string()).collect();
    all.extend(["slots", "s", "", "slot:span"].map(|t| parse_rank_by(t).unwrap_err().to_string()));
    let bind = [
        "",
        "cores",
        "l",
        "n",
        "report",
        "core:limit",
        "core:limit=0",
        "core:report=1",
        "core:overload:no-overload",
        "core:limit=1:limit=2",
        "core:often",
    ];
    all.extend(bind.map(|t| parse_bind_to(t).unwrap_err().to_string()));
    insta::assert_snapshot!(all.join("\n"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(
        text in "(slot|ppr|node|core|none|seq|rankfile|pe-list=|device=|file=|limit|gpu|[:,=-]|[0-9]|\\PC){0,8}"
    ) {
        let _ = (parse_map_by(&text), parse_rank_by(&text), parse_bind_to(&text));
    }

    #[test]
    fn joined_pieces_never_panic_and_one_piece_stays_itself(
        one in "(slot|ppr|pe-list=|file=|[:,=]|[0-9]|\\PC){0,6}", two in "(node|ppr|[:,=]|[0-9]|\\PC){0,6}"
    ) {
        proptest::prop_assert_eq!(join("--map-by", std::slice::from_ref(&one)), Ok(Some(one.clone())));
        let _ = join("--map-by", &[one, two]);
    }
}

#[test]
fn sockets_are_packages_a_map_may_ask_to_be_shown_and_slots_may_be_spanned() {
    for text in ["sockets", "socket", "packages", "pkg"] {
        assert_eq!(parse_map_by(text).unwrap().by, Some(MapBy::Object(ObjectKind::Package)), "{text}");
        assert_eq!(parse_bind_to(text).unwrap().to, Some(BindTo::Object(ObjectKind::Package)), "{text}");
    }
    let map = parse_map_by(":display").unwrap();
    assert!(map.display && map.by.is_none());
    let map = parse_map_by("slot:PE=2:span").unwrap();
    assert_eq!((map.by, map.pes, map.span), (Some(MapBy::Slot), Some(2), true));
}
