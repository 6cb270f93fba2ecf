//! One node: a server (at once, or behind a front door), its local processes, and a line protocol to the harness on
//! stdin and stdout. It is also the shortest example of what a driver does with this crate.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use ferrite_pmix::{
    AppInfo, Completer, FirstMessage, FrontDoor, JobInfo, LocalProc, NodeInfo, PROCESS_ENV, Proc, Server, ServerConfig,
    Status, Upcall, compat_env,
};

/// The task of one node; travels in one environment variable.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) node: u32,
    pub(crate) nodes: u32,
    pub(crate) size: u32,
    pub(crate) lazy: bool,
    /// Forget the answers to fences, to see that clients get an error.
    pub(crate) drop_fences: bool,
    pub(crate) told_size: u32,
    pub(crate) dir: PathBuf,
    pub(crate) program: Vec<String>,
}

pub(crate) const PLAN: &str = "FERRITE_PMIX_TEST_PLAN";
pub(crate) const MARK: &str = "@@ ";
const NSPACE: &str = "test-1@1";
const DVM: &str = "test-1@0";

impl Plan {
    pub(crate) fn encode(&self) -> String {
        let (lazy, drop) = (u32::from(self.lazy), u32::from(self.drop_fences));
        let dir = self.dir.display();
        let program = self.program.join("\x1f");
        let numbers = [self.node, self.nodes, self.size, lazy, drop, self.told_size].map(|n| n.to_string());
        format!("{}\x1f{dir}\x1f{program}", numbers.join("\x1f"))
    }

    fn decode(text: &str) -> Self {
        let mut words = text.split('\x1f').map(str::to_owned);
        let mut next = || words.next().expect("a plan has all fields");
        let mut number = || next().parse::<u32>().expect("a number");
        let [node, nodes, size, lazy, drop, told_size] = std::array::from_fn(|_| number());
        let dir = next().into();
        Self { node, nodes, size, lazy: lazy == 1, drop_fences: drop == 1, told_size, dir, program: words.collect() }
    }

    pub(crate) fn ranks_of(&self, node: u32) -> std::ops::Range<u32> {
        let share = self.size / self.nodes;
        node * share..(node + 1) * share
    }

    fn hostname(node: u32) -> String {
        format!("fake{node}")
    }

    /// A node that does not exist, and hosts what the job is told to have beyond the real processes.
    fn far_away(&self) -> Option<NodeInfo> {
        let ranks = self.size..=self.told_size.checked_sub(1).filter(|&last| last >= self.size)?;
        Some(NodeInfo { hostname: "far".into(), node_id: self.nodes, ranks: vec![ranks] })
    }

    fn config(&self) -> ServerConfig {
        ServerConfig {
            tmpdir: self.dir.clone(),
            system_tmpdir: self.dir.clone(),
            dvm: DVM.split('@').next().unwrap_or(DVM).into(),
            nspace: DVM.into(),
            rank: self.node,
            hostname: Self::hostname(self.node),
            tool_support: false,
            share_topology: false,
            caller: None,
        }
    }

    fn job(&self) -> JobInfo {
        let node = |n| {
            let ranks = self.ranks_of(n);
            NodeInfo { hostname: Self::hostname(n), node_id: n, ranks: vec![ranks.start..=ranks.end - 1] }
        };
        let local = |(at, rank)| LocalProc {
            rank,
            app_rank: rank,
            local_rank: at as u16,
            node_rank: at as u16,
            proc_dir: self.dir.clone(),
            ..LocalProc::default()
        };
        let (argv, wdir) = (self.program.clone(), "/tmp".into());
        JobInfo {
            nspace: NSPACE.into(),
            session_id: 1,
            job_id: NSPACE.into(),
            universe_size: self.size,
            size: self.told_size,
            max_procs: self.size,
            map_by: "slot".into(),
            rank_by: "slot".into(),
            bind_to: "none".into(),
            tmpdir: self.dir.clone(),
            nsdir: self.dir.clone(),
            nodes: (0..self.nodes).map(node).chain(self.far_away()).collect(),
            local_node: Some(self.node as usize),
            apps: vec![AppInfo { number: 0, size: self.size, leader: 0, wdir, argv, set: None }],
            local: self.ranks_of(self.node).enumerate().map(local).collect(),
            // SAFETY: both only read the process's own ids.
            uid: unsafe { libc::getuid() },
            // SAFETY: as above.
            gid: unsafe { libc::getgid() },
            ..JobInfo::default()
        }
    }
}

enum Event {
    /// A client's connection, and its first message.
    Connection(TcpStream, Vec<u8>),
    Upcall(Upcall),
    Line(String),
    Output(String),
    Exit(u32, i32),
    Data(String, Result<Bytes, Status>),
}

struct Node {
    plan: Plan,
    events: Sender<Event>,
    server: Option<Server>,
    fences: BTreeMap<String, Completer<Bytes>>,
    fence_count: BTreeMap<String, u32>,
    gets: BTreeMap<u32, Completer<Bytes>>,
    next_get: u32,
}

/// The whole life of a node process. Returns when the harness says so.
pub(crate) fn run() {
    let plan = Plan::decode(&std::env::var(PLAN).expect("the harness sets the plan"));
    let (events, inbox) = channel();
    let mut node = Node {
        plan,
        events: events.clone(),
        server: None,
        fences: BTreeMap::new(),
        fence_count: BTreeMap::new(),
        gets: BTreeMap::new(),
        next_get: 0,
    };
    let env = node.child_env();
    for rank in node.plan.ranks_of(node.plan.node) {
        node.spawn(rank, env(rank, node.server.as_ref()));
    }
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let sent = events.send(Event::Line(line.expect("the harness speaks UTF-8")));
            sent.expect("the node listens");
        }
    });
    node.serve(&inbox);
}

type ChildEnv = Box<dyn Fn(u32, Option<&Server>) -> Vec<(String, String)>>;

impl Node {
    fn start_server(&mut self) {
        let events = self.events.clone();
        let signals = caught_signals();
        let begin = std::time::Instant::now();
        let server = Server::start(&self.plan.config(), move |upcall| {
            let _ = events.send(Event::Upcall(upcall));
        });
        let server = server.expect("the server starts");
        let started = begin.elapsed();
        server.register_job(&self.plan.job()).expect("the job is registered");
        let registered = begin.elapsed() - started;
        say(&format!("NOTE started libpmix {} in {started:?}, registered in {registered:?}", server.version()));
        let same = if signals == caught_signals() { "unchanged" } else { "changed" };
        say(&format!("NOTE signals {same}"));
        self.server = Some(server);
    }

    /// Eager: the library's own environment. Lazy: ours, and a listener.
    fn child_env(&mut self) -> ChildEnv {
        if !self.plan.lazy {
            self.start_server();
            return Box::new(|rank, server| {
                server.expect("it was started").client_env(NSPACE, rank).expect("the process is registered")
            });
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let events = self.events.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map(|stream| stream.expect("a client")) {
                let events = events.clone();
                std::thread::spawn(move || gate(stream, &events));
            }
        });
        let config = self.plan.config();
        Box::new(move |rank, _| {
            let door = FrontDoor {
                port,
                server_nspace: &config.nspace,
                server_rank: config.rank,
                hostname: &config.hostname,
                tmpdir: &config.tmpdir,
                system_tmpdir: &config.system_tmpdir,
            };
            door.child_env(NSPACE, rank)
        })
    }

    fn spawn(&self, rank: u32, env: Vec<(String, String)>) {
        let mut command = Command::new(&self.plan.program[0]);
        for (name, _) in PROCESS_ENV {
            command.env_remove(name);
        }
        command.args(&self.plan.program[1..]).env_remove(PLAN).envs(env);
        command.envs(compat_env(std::env::var_os("HOME").is_some(), &self.plan.dir));
        // Ranks of different fake nodes share one /dev/shm, where Open MPI 4 would mix them up.
        command.env("OMPI_MCA_btl", "self,tcp").env("OMPI_MCA_btl_tcp_if_include", "lo");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("it is piped");
        let events = self.events.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let _ = events.send(Event::Output(line.expect("clients print UTF-8")));
            }
            let status = child.wait().expect("it was spawned");
            let _ = events.send(Event::Exit(rank, status.code().unwrap_or(-1)));
        });
    }

    fn serve(&mut self, inbox: &Receiver<Event>) {
        for event in inbox {
            match event {
                Event::Connection(client, first) => {
                    if self.server.is_none() {
                        self.start_server();
                    }
                    let port = self.server.as_ref().and_then(Server::port).expect("it was started");
                    relay(client, &first, port);
                }
                Event::Upcall(upcall) => self.on_upcall(upcall),
                Event::Output(line) => say(&format!("OUT {line}")),
                Event::Exit(rank, code) => say(&format!("EXIT {rank} {code}")),
                Event::Data(id, result) => match result {
                    Ok(data) => say(&format!("DATA {id} 0 {}", hex(&data))),
                    Err(status) => say(&format!("DATA {id} {} ", status.0)),
                },
                Event::Line(line) if line == "QUIT" => break,
                Event::Line(line) => self.on_line(&line),
            }
        }
        if let Some(server) = self.server.take() {
            server.stop();
        }
        say("END");
    }

    fn on_upcall(&mut self, upcall: Upcall) {
        match upcall {
            Upcall::ClientConnected { proc, reply } => {
                say(&format!("NOTE connected {}", proc.rank));
                reply.complete(Ok(()));
            }
            Upcall::ClientFinalized { proc, reply } => {
                say(&format!("NOTE finalized {}", proc.rank));
                reply.complete(Ok(()));
            }
            Upcall::Abort { proc, status, message, targets, reply } => {
                say(&format!("NOTE abort {} {status} {} {message}", proc.rank, targets.len()));
                reply.complete(Ok(()));
                say("NOTE aborted");
            }
            Upcall::Fence { mut procs, data, collect, reply, .. } => {
                procs.sort();
                let key = format!("{procs:?}").replace(' ', "");
                let count = self.fence_count.entry(key.clone()).or_insert(0);
                *count += 1;
                let key = format!("{key}#{count}");
                say(&format!("NOTE fence of {} bytes, collect {collect}", data.len()));
                if !self.plan.drop_fences {
                    self.fences.insert(key.clone(), reply);
                    say(&format!("FENCE {key} {}", hex(&data)));
                }
            }
            Upcall::DirectModex { proc, reply, .. } => {
                self.next_get += 1;
                self.gets.insert(self.next_get, reply);
                say(&format!("GET {}.{} {}", self.plan.node, self.next_get, proc.rank));
            }
            Upcall::Log { entries, reply, .. } => {
                say(&format!("NOTE log {:?} {}", entries[0].channel, entries[0].text.replace('\n', "\\n")));
                reply.complete(Ok(()));
            }
            Upcall::Connect { reply, .. } | Upcall::Disconnect { reply, .. } => reply.refuse(),
            Upcall::Publish { reply, .. } => {
                say("NOTE refused publish");
                reply.refuse();
            }
            Upcall::Lookup { reply, .. } => {
                say("NOTE refused lookup");
                reply.refuse();
            }
            Upcall::Unpublish { reply, .. } => {
                say("NOTE refused unpublish");
                reply.refuse();
            }
            Upcall::Monitor { reply, .. } => reply.refuse(),
            Upcall::Query { reply, .. } | Upcall::JobControl { reply, .. } | Upcall::Allocate { reply, .. } => {
                reply.refuse();
            }
            Upcall::Event { code, .. } => say(&format!("NOTE event {code}")),
            Upcall::Refused { service, .. } => say(&format!("NOTE refused {service}")),
            Upcall::Spawn { reply, .. } => {
                say("NOTE refused spawn");
                reply.refuse();
            }
            Upcall::SessionControl { reply, .. } => reply.refuse(),
            Upcall::Group { reply, .. } => {
                say("NOTE refused group");
                reply.refuse();
            }
            Upcall::ToolConnected { .. }
            | Upcall::PushStdin { .. }
            | Upcall::PullOutput { .. }
            | Upcall::Lost { .. } => {}
        }
    }

    fn on_line(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["FENCED", key, data] => {
                let reply = self.fences.remove(key).expect("the fence is open");
                reply.complete(Ok(unhex(data)));
            }
            ["WANT", id, rank] => {
                let (events, id) = (self.events.clone(), id.to_owned());
                let proc = Proc::new(NSPACE, rank.parse().expect("a rank"));
                let done = move |result| drop(events.send(Event::Data(id, result)));
                // A front door nobody came through yet: the request is a reason to start, too.
                if self.server.is_none() {
                    self.start_server();
                }
                self.server.as_ref().expect("it was started").dmodex_get(&proc, done);
            }
            ["GOT", id, status, data] => {
                let id: u32 = id.split('.').next_back().and_then(|n| n.parse().ok()).expect("our id");
                let status = Status(status.parse().expect("a status"));
                let reply = self.gets.remove(&id).expect("the request is open");
                reply.complete(status.into_result().map(|()| unhex(data)));
            }
            _ => panic!("unknown line {line:?}"),
        }
    }
}

/// Lets a connection through when its first message is complete; until then the library does not hear of it.
fn gate(mut client: TcpStream, events: &Sender<Event>) {
    let mut first = Vec::new();
    let mut byte = [0];
    while matches!(FirstMessage::judge(&first), FirstMessage::Incomplete(_)) && matches!(client.read(&mut byte), Ok(1))
    {
        first.push(byte[0]);
    }
    if matches!(FirstMessage::judge(&first), FirstMessage::Complete(_)) {
        let _ = events.send(Event::Connection(client, first));
    }
}

/// Bytes both ways between a client and the library, until either side ends.
fn relay(client: TcpStream, first: &[u8], port: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).expect("the library listens");
    server.write_all(first).expect("the library reads");
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket");
    }
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    };
    copy(client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    copy(server, client);
}

/// The signals that this process handles, as the kernel counts them.
fn caught_signals() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("SigCgt")).map(str::to_owned)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{line}").and_then(|()| out.flush()).expect("the harness reads");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Bytes {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex")).collect()
}
