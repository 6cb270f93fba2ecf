//! DVMs that are no more than a contact file and a socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;

use ferrite_wire::control::{CONTROL_VERSION, GREETING_LEN, greeting};

use super::*;

struct Place {
    dir: tempfile::TempDir,
    listeners: Vec<UnixListener>,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap(), listeners: Vec::new() }
    }

    fn here(&self) -> Here {
        Here { bases: vec![vec![self.dir.path().to_owned()]], host: "n0".to_owned(), batch: None }
    }

    fn contact(&self, pid: u32) -> DvmContact {
        let socket = self.dir.path().join(format!("prte.{pid}/control"));
        DvmContact {
            dvm: format!("prte-n0-{pid}"),
            endpoints: Vec::new(),
            pid,
            host: "n0".to_owned(),
            started_s: u64::from(pid),
            head: None,
            batch: None,
            system: false,
            socket: socket.display().to_string(),
            control: CONTROL_VERSION,
            remote: None,
            key: None,
        }
    }

    fn write(&self, contact: &DvmContact) {
        let session = self.dir.path().join(format!("prte.{}", contact.pid));
        std::fs::create_dir_all(&session).unwrap();
        std::fs::write(session.join("contact"), contact.to_text()).unwrap();
    }

    fn listen(&mut self, contact: &DvmContact) {
        self.write(contact);
        self.listeners.push(UnixListener::bind(&contact.socket).unwrap());
    }

    fn run(&mut self, pid: u32) -> DvmContact {
        let contact = self.contact(pid);
        self.listen(&contact);
        contact
    }
}

fn pid_of(chosen: Result<Found, FindError>) -> Result<u32, String> {
    chosen.map(|found| found.live.contact.pid).map_err(|e| e.to_string())
}

#[test]
fn a_dvm_whose_socket_nobody_listens_to_is_not_there() {
    let mut place = Place::new();
    place.run(1);
    let dead = place.run(2);
    place.listeners.pop();
    place.write(&place.contact(3));
    std::fs::create_dir(place.dir.path().join("prte.4")).unwrap();
    std::fs::write(place.dir.path().join("prte.5"), "no directory").unwrap();
    assert_eq!(live(&place.here()).iter().map(|c| c.pid).collect::<Vec<_>>(), [1]);
    let told = choose(&Selector::Pid(dead.pid), &place.here()).unwrap_err();
    assert!(told.to_string().contains("is the one of --pid 2\n  prte-n0-1  --pid 1, started"), "{told}");
}

#[test]
fn a_contact_behind_a_link_is_not_believed() {
    let mut place = Place::new();
    place.run(1);
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(place.dir.path().join("prte.1"), elsewhere.path().join("prte.1")).unwrap();
    let here = Here { bases: vec![vec![elsewhere.path().to_owned()]], ..place.here() };
    assert!(live(&here).is_empty());
}

#[test]
fn a_dvm_in_an_earlier_directory_saves_the_look_into_later_ones() {
    let (mut place, mut other) = (Place::new(), Place::new());
    let near = place.run(1);
    other.run(2);
    other.listeners[0].set_nonblocking(true).unwrap();
    let here = Here { bases: [place.here().bases, other.here().bases].concat(), ..place.here() };
    let is_asked = |other: &Place| other.listeners[0].accept().is_ok();
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(1));
    assert_eq!(pid_of(choose(&Selector::Pid(near.pid), &here)), Ok(1));
    assert!(!is_asked(&other), "nobody has asked whether it lives");
    assert_eq!(pid_of(choose(&Selector::Pid(2), &here)), Ok(2));
    assert!(is_asked(&other));
}

#[test]
fn the_only_one_is_meant_and_of_several_the_one_of_the_same_batch_job() {
    let mut place = Place::new();
    let mut here = place.here();
    assert!(matches!(choose(&Selector::Any, &here), Err(FindError::None { .. })));
    place.run(1);
    here.batch = Some("7".to_owned());
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(1));
    let mine = DvmContact { batch: Some("7".to_owned()), ..place.contact(2) };
    place.listen(&mine);
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(2));
    here.batch = None;
    let told = pid_of(choose(&Selector::Any, &here)).unwrap_err();
    assert!(told.contains("prte-n0-1 ") && told.contains("prte-n0-2 ") && told.contains("batch job 7"), "{told}");
}

#[test]
fn each_way_to_name_a_dvm_finds_it() {
    let mut place = Place::new();
    place.run(1);
    let system = DvmContact { system: true, ..place.contact(2) };
    place.listen(&system);
    let file = |name: &str, text: &str| {
        let path = place.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let selectors = [
        (Selector::Pid(2), 2),
        (Selector::PidFile(file("pid", "1\n")), 1),
        (Selector::Namespace("prte-n0-1@0".to_owned()), 1),
        (Selector::Uri("prte-n0-2@0.0;tcp4://n0:1".to_owned()), 2),
        (Selector::UriFile(file("uri", "prte-n0-1@0.0\n")), 1),
        (Selector::UriFile(file("contact", &system.to_text())), 2),
        (Selector::SystemOnly, 2),
        (Selector::SystemFirst, 2),
    ];
    for (selector, pid) in selectors {
        assert_eq!(pid_of(choose(&selector, &place.here())), Ok(pid), "{selector:?}");
    }
    place.listeners.pop();
    assert_eq!(pid_of(choose(&Selector::SystemFirst, &place.here())), Ok(1));
    assert!(matches!(choose(&Selector::SystemOnly, &place.here()), Err(FindError::NotThere { .. })));
    let away = DvmContact { host: "n1".to_owned(), ..system };
    let selector = Selector::UriFile(file("away", &away.to_text()));
    let connected = connect(&selector, None, Patience::default(), &place.here());
    assert!(matches!(connected, Err(FindError::Elsewhere { .. })));
    let far = DvmContact { remote: Some("n1:1".to_owned()), key: Some("/no/key".to_owned()), ..away };
    let selector = Selector::UriFile(file("far", &far.to_text()));
    let connected = connect(&selector, None, Patience::default(), &place.here());
    assert!(matches!(connected, Err(FindError::Key { .. })));
    assert!(matches!(choose(&Selector::UriFile(file("x", "x")), &place.here()), Err(FindError::Content { .. })));
    assert!(matches!(choose(&Selector::UriFile("/no/file".into()), &place.here()), Err(FindError::File { .. })));
}

#[test]
fn patience_waits_for_a_dvm_that_is_being_started() {
    let place = Place::new();
    let contact = place.contact(1);
    place.write(&contact);
    let here = place.here();
    let socket = contact.socket.clone();
    let starter = std::thread::spawn(move || {
        let listener = UnixListener::bind(socket).unwrap();
        // A client that only looks says nothing.
        loop {
            let (mut client, _) = listener.accept().unwrap();
            let mut theirs = [0; GREETING_LEN];
            if client.read_exact(&mut theirs).is_ok() {
                client.write_all(&greeting()).unwrap();
                return;
            }
        }
    });
    let patience = Patience { wait: Some(Duration::from_secs(60)), retries: None };
    assert_eq!(connect(&Selector::Any, None, patience, &here).unwrap().dvm(), "prte-n0-1");
    starter.join().unwrap();
}

#[test]
fn a_socket_deeper_than_an_address_holds_is_reached() {
    let mut place = Place::new();
    let deep = place.dir.path().join("d".repeat(150));
    std::fs::create_dir_all(deep.join("prte.1")).unwrap();
    // The path is too long for a socket's address, so the listener is bound by a short name.
    let short = place.dir.path().join("s");
    std::os::unix::fs::symlink(&deep, &short).unwrap();
    place.listeners.push(UnixListener::bind(short.join("prte.1/control")).unwrap());
    let contact = DvmContact { socket: deep.join("prte.1/control").display().to_string(), ..place.contact(1) };
    std::fs::write(deep.join("prte.1/contact"), contact.to_text()).unwrap();
    let here = Here { bases: vec![vec![deep]], ..place.here() };
    assert_eq!(live(&here).len(), 1);
}

#[test]
fn places_to_look_are_the_parameter_the_environment_and_the_common_ones() {
    let own = format!("/run/user/{}", rustix::process::getuid().as_raw());
    let bases = |base, variable: &str| {
        let value = |name: &str| (name == variable).then(|| "/scratch".to_owned());
        Here::of("n0".to_owned(), base, value).bases
    };
    let paths = |group: &[&str]| group.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(bases(Some("/p"), "TMPDIR"), [paths(&["/p"]), paths(&["/scratch"]), paths(&[&own, "/tmp"])]);
    assert_eq!(bases(Some("/tmp"), "TMPDIR"), [paths(&["/tmp"]), paths(&["/scratch"]), paths(&[&own])]);
    assert_eq!(bases(None, "XDG_RUNTIME_DIR"), [paths(&["/scratch", &own, "/tmp"])]);
}

#[test]
fn the_dvm_in_a_named_place_hides_those_in_the_common_ones() {
    let (mut named, mut common) = (Place::new(), Place::new());
    let places = |named: &Place, common: &Place| {
        let bases = vec![vec![named.dir.path().to_owned()], vec![common.dir.path().to_owned()]];
        Here { bases, ..common.here() }
    };
    let here = places(&named, &common);
    common.run(2);
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(2));
    named.run(1);
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(1));
    assert_eq!(pid_of(choose(&Selector::SystemFirst, &here)), Ok(1));
    assert_eq!(pid_of(choose(&Selector::Pid(2), &here)), Ok(2));
    common.run(3);
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(1));
    named.run(4);
    assert!(matches!(choose(&Selector::Any, &here), Err(FindError::Several { candidates }) if candidates.len() == 2));
}

#[test]
fn somebody_elses_file_or_socket_is_not_talked_to() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root can give files away; the testbed plays it with two users.
    }
    let mut place = Place::new();
    let contact = place.run(1);
    let theirs = Uid::from_raw(12_001);
    assert!(!is_of(&reach(Path::new(&contact.socket), SocketFlags::empty()).unwrap(), theirs));
    rustix::fs::chown(place.dir.path().join("prte.1/contact"), Some(theirs), None).unwrap();
    assert!(live(&place.here()).is_empty());
}

/// The contact of a daemon on `n0`, whose DVM has its head on `n9`.
fn of_daemon(place: &Place, pid: u32) -> DvmContact {
    let socket = place.dir.path().join(format!("prted.{pid}/control"));
    let socket = socket.display().to_string();
    DvmContact { dvm: format!("prte-n9-{pid}"), head: Some("n9".to_owned()), socket, ..place.contact(pid) }
}

fn run_daemon(place: &mut Place, contact: &DvmContact) {
    let session = Path::new(&contact.socket).parent().unwrap();
    std::fs::create_dir_all(session).unwrap();
    std::fs::write(session.join("contact"), contact.to_text()).unwrap();
    place.listeners.push(UnixListener::bind(&contact.socket).unwrap());
}

#[test]
fn a_dvm_with_its_head_elsewhere_is_found_by_its_daemon_here_and_comes_after_those_with_their_heads_here() {
    let mut place = Place::new();
    let far = of_daemon(&place, 7);
    run_daemon(&mut place, &far);
    for selector in [Selector::Any, Selector::Pid(7), Selector::Namespace("prte-n9-7".to_owned())] {
        assert_eq!(pid_of(choose(&selector, &place.here())), Ok(7), "{selector:?}");
    }
    place.run(1);
    assert_eq!(pid_of(choose(&Selector::Any, &place.here())), Ok(1));
    assert_eq!(pid_of(choose(&Selector::Pid(7), &place.here())), Ok(7));
    let second = of_daemon(&place, 8);
    run_daemon(&mut place, &second);
    place.listeners.remove(1);
    let told = pid_of(choose(&Selector::Any, &place.here())).unwrap_err();
    assert!(told.contains("prte-n9-7 ") && told.contains("prte-n9-8 "), "{told}");
}

#[test]
fn a_daemon_on_the_node_of_its_head_is_not_asked() {
    let mut place = Place::new();
    let head = place.run(1);
    let daemon = DvmContact { dvm: head.dvm.clone(), started_s: head.started_s, ..of_daemon(&place, 1) };
    run_daemon(&mut place, &daemon);
    assert_eq!(live(&place.here()), [head]);
}

#[test]
fn daemons_are_not_asked_when_a_head_fits_and_many_of_one_dvm_are_one() {
    let mut place = Place::new();
    place.run(1);
    let first = of_daemon(&place, 7);
    let second = DvmContact { dvm: first.dvm.clone(), started_s: first.started_s, ..of_daemon(&place, 8) };
    run_daemon(&mut place, &first);
    run_daemon(&mut place, &second);
    place.listeners[1..].iter().for_each(|listener| listener.set_nonblocking(true).unwrap());
    let asked = |place: &Place| place.listeners[1..].iter().filter(|listener| listener.accept().is_ok()).count();
    assert_eq!(pid_of(choose(&Selector::Any, &place.here())), Ok(1));
    assert_eq!(pid_of(choose(&Selector::Pid(1), &place.here())), Ok(1));
    assert_eq!(asked(&place), 0);
    assert_eq!(pid_of(choose(&Selector::Namespace(first.dvm.clone()), &place.here())), Ok(7));
    assert_eq!(asked(&place), 2);
    let here = Here { batch: Some("7".to_owned()), ..place.here() };
    let mine = DvmContact { batch: here.batch.clone(), ..second };
    std::fs::write(Path::new(&mine.socket).with_file_name("contact"), mine.to_text()).unwrap();
    std::fs::remove_dir_all(place.dir.path().join("prted.7")).unwrap();
    assert_eq!(pid_of(choose(&Selector::Any, &here)), Ok(8), "the batch job's own, whose head is elsewhere");
}

#[test]
fn the_file_of_a_head_elsewhere_leads_to_the_daemon_here() {
    let mut place = Place::new();
    let daemon = of_daemon(&place, 7);
    run_daemon(&mut place, &daemon);
    let listener = place.listeners.pop().unwrap();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(&greeting()).unwrap();
        client.read_exact(&mut [0; GREETING_LEN]).unwrap();
    });
    let file = place.dir.path().join("uri");
    let head = DvmContact { host: "n9".to_owned(), head: None, socket: "/no/socket".to_owned(), ..daemon };
    std::fs::write(&file, head.to_text()).unwrap();
    let mut connection = connect(&Selector::UriFile(file), None, Patience::default(), &place.here()).unwrap();
    server.join().unwrap();
    let told = connection.ask(ferrite_wire::control::Request::Status).unwrap_err();
    assert!(matches!(&told, ConnectionError::DaemonGone { head, .. } if head == "n9"), "{told}");
}
