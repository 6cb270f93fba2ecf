// Made by regenerate.sh from the headers of libpmix 4.2; do not edit.
pub const PMIX_HAVE_VISIBILITY: u32 = 1;
pub const PMIX_VERSION_MAJOR: u32 = 4;
pub const PMIX_VERSION_MINOR: u32 = 2;
pub const PMIX_VERSION_RELEASE: u32 = 2;
pub const PMIX_NUMERIC_VERSION: u32 = 262658;
pub const PMIX_MAX_NSLEN: u32 = 255;
pub const PMIX_MAX_KEYLEN: u32 = 511;
pub const PMIX_RANK_UNDEF: u32 = 4294967295;
pub const PMIX_RANK_WILDCARD: u32 = 4294967294;
pub const PMIX_RANK_LOCAL_NODE: u32 = 4294967293;
pub const PMIX_RANK_LOCAL_PEERS: u32 = 4294967291;
pub const PMIX_RANK_INVALID: u32 = 4294967292;
pub const PMIX_RANK_VALID: u32 = 4294967245;
pub const PMIX_APP_WILDCARD: u32 = 4294967295;
pub const PMIX_LAUNCHER_RNDZ_URI: &::std::ffi::CStr = c"PMIX_LAUNCHER_RNDZ_URI";
pub const PMIX_LAUNCHER_RNDZ_FILE: &::std::ffi::CStr = c"PMIX_LAUNCHER_RNDZ_FILE";
pub const PMIX_KEEPALIVE_PIPE: &::std::ffi::CStr = c"PMIX_KEEPALIVE_PIPE";
pub const PMIX_ATTR_UNDEF: &::std::ffi::CStr = c"pmix.undef";
pub const PMIX_EXTERNAL_PROGRESS: &::std::ffi::CStr = c"pmix.evext";
pub const PMIX_SERVER_TOOL_SUPPORT: &::std::ffi::CStr = c"pmix.srvr.tool";
pub const PMIX_SERVER_REMOTE_CONNECTIONS: &::std::ffi::CStr = c"pmix.srvr.remote";
pub const PMIX_SERVER_SYSTEM_SUPPORT: &::std::ffi::CStr = c"pmix.srvr.sys";
pub const PMIX_SERVER_SESSION_SUPPORT: &::std::ffi::CStr = c"pmix.srvr.sess";
pub const PMIX_SERVER_TMPDIR: &::std::ffi::CStr = c"pmix.srvr.tmpdir";
pub const PMIX_SYSTEM_TMPDIR: &::std::ffi::CStr = c"pmix.sys.tmpdir";
pub const PMIX_SERVER_SHARE_TOPOLOGY: &::std::ffi::CStr = c"pmix.srvr.share";
pub const PMIX_SERVER_ENABLE_MONITORING: &::std::ffi::CStr = c"pmix.srv.monitor";
pub const PMIX_SERVER_NSPACE: &::std::ffi::CStr = c"pmix.srv.nspace";
pub const PMIX_SERVER_RANK: &::std::ffi::CStr = c"pmix.srv.rank";
pub const PMIX_SERVER_GATEWAY: &::std::ffi::CStr = c"pmix.srv.gway";
pub const PMIX_SERVER_SCHEDULER: &::std::ffi::CStr = c"pmix.srv.sched";
pub const PMIX_SERVER_START_TIME: &::std::ffi::CStr = c"pmix.srv.strtime";
pub const PMIX_HOMOGENEOUS_SYSTEM: &::std::ffi::CStr = c"pmix.homo";
pub const PMIX_SINGLETON: &::std::ffi::CStr = c"pmix.singleton";
pub const PMIX_BIND_PROGRESS_THREAD: &::std::ffi::CStr = c"pmix.bind.pt";
pub const PMIX_BIND_REQUIRED: &::std::ffi::CStr = c"pmix.bind.reqd";
pub const PMIX_TOOL_NSPACE: &::std::ffi::CStr = c"pmix.tool.nspace";
pub const PMIX_TOOL_RANK: &::std::ffi::CStr = c"pmix.tool.rank";
pub const PMIX_SERVER_PIDINFO: &::std::ffi::CStr = c"pmix.srvr.pidinfo";
pub const PMIX_CONNECT_TO_SYSTEM: &::std::ffi::CStr = c"pmix.cnct.sys";
pub const PMIX_CONNECT_SYSTEM_FIRST: &::std::ffi::CStr = c"pmix.cnct.sys.first";
pub const PMIX_SERVER_URI: &::std::ffi::CStr = c"pmix.srvr.uri";
pub const PMIX_MYSERVER_URI: &::std::ffi::CStr = c"pmix.mysrvr.uri";
pub const PMIX_SERVER_HOSTNAME: &::std::ffi::CStr = c"pmix.srvr.host";
pub const PMIX_CONNECT_MAX_RETRIES: &::std::ffi::CStr = c"pmix.tool.mretries";
pub const PMIX_CONNECT_RETRY_DELAY: &::std::ffi::CStr = c"pmix.tool.retry";
pub const PMIX_TOOL_DO_NOT_CONNECT: &::std::ffi::CStr = c"pmix.tool.nocon";
pub const PMIX_TOOL_CONNECT_OPTIONAL: &::std::ffi::CStr = c"pmix.tool.conopt";
pub const PMIX_LAUNCHER: &::std::ffi::CStr = c"pmix.tool.launcher";
pub const PMIX_LAUNCHER_RENDEZVOUS_FILE: &::std::ffi::CStr = c"pmix.tool.lncrnd";
pub const PMIX_TOOL_ATTACHMENT_FILE: &::std::ffi::CStr = c"pmix.tool.attach";
pub const PMIX_PRIMARY_SERVER: &::std::ffi::CStr = c"pmix.pri.srvr";
pub const PMIX_NOHUP: &::std::ffi::CStr = c"pmix.nohup";
pub const PMIX_LAUNCHER_DAEMON: &::std::ffi::CStr = c"pmix.lnch.dmn";
pub const PMIX_EXEC_AGENT: &::std::ffi::CStr = c"pmix.exec.agnt";
pub const PMIX_LAUNCH_DIRECTIVES: &::std::ffi::CStr = c"pmix.lnch.dirs";
pub const PMIX_USERID: &::std::ffi::CStr = c"pmix.euid";
pub const PMIX_GRPID: &::std::ffi::CStr = c"pmix.egid";
pub const PMIX_VERSION_INFO: &::std::ffi::CStr = c"pmix.version";
pub const PMIX_REQUESTOR_IS_TOOL: &::std::ffi::CStr = c"pmix.req.tool";
pub const PMIX_REQUESTOR_IS_CLIENT: &::std::ffi::CStr = c"pmix.req.client";
pub const PMIX_PSET_NAME: &::std::ffi::CStr = c"pmix.pset.nm";
pub const PMIX_PSET_NAMES: &::std::ffi::CStr = c"pmix.pset.nms";
pub const PMIX_PSET_MEMBERS: &::std::ffi::CStr = c"pmix.pset.mems";
pub const PMIX_REINCARNATION: &::std::ffi::CStr = c"pmix.reinc";
pub const PMIX_PROGRAMMING_MODEL: &::std::ffi::CStr = c"pmix.pgm.model";
pub const PMIX_MODEL_LIBRARY_NAME: &::std::ffi::CStr = c"pmix.mdl.name";
pub const PMIX_MODEL_LIBRARY_VERSION: &::std::ffi::CStr = c"pmix.mld.vrs";
pub const PMIX_THREADING_MODEL: &::std::ffi::CStr = c"pmix.threads";
pub const PMIX_MODEL_NUM_THREADS: &::std::ffi::CStr = c"pmix.mdl.nthrds";
pub const PMIX_MODEL_NUM_CPUS: &::std::ffi::CStr = c"pmix.mdl.ncpu";
pub const PMIX_MODEL_CPU_TYPE: &::std::ffi::CStr = c"pmix.mdl.cputype";
pub const PMIX_MODEL_PHASE_NAME: &::std::ffi::CStr = c"pmix.mdl.phase";
pub const PMIX_MODEL_PHASE_TYPE: &::std::ffi::CStr = c"pmix.mdl.ptype";
pub const PMIX_MODEL_AFFINITY_POLICY: &::std::ffi::CStr = c"pmix.mdl.tap";
pub const PMIX_TCP_REPORT_URI: &::std::ffi::CStr = c"pmix.tcp.repuri";
pub const PMIX_TCP_URI: &::std::ffi::CStr = c"pmix.tcp.uri";
pub const PMIX_TCP_IF_INCLUDE: &::std::ffi::CStr = c"pmix.tcp.ifinclude";
pub const PMIX_TCP_IF_EXCLUDE: &::std::ffi::CStr = c"pmix.tcp.ifexclude";
pub const PMIX_TCP_IPV4_PORT: &::std::ffi::CStr = c"pmix.tcp.ipv4";
pub const PMIX_TCP_IPV6_PORT: &::std::ffi::CStr = c"pmix.tcp.ipv6";
pub const PMIX_TCP_DISABLE_IPV4: &::std::ffi::CStr = c"pmix.tcp.disipv4";
pub const PMIX_TCP_DISABLE_IPV6: &::std::ffi::CStr = c"pmix.tcp.disipv6";
pub const PMIX_CPUSET: &::std::ffi::CStr = c"pmix.cpuset";
pub const PMIX_CPUSET_BITMAP: &::std::ffi::CStr = c"pmix.bitmap";
pub const PMIX_CREDENTIAL: &::std::ffi::CStr = c"pmix.cred";
pub const PMIX_SPAWNED: &::std::ffi::CStr = c"pmix.spawned";
pub const PMIX_NODE_OVERSUBSCRIBED: &::std::ffi::CStr = c"pmix.ndosub";
pub const PMIX_TMPDIR: &::std::ffi::CStr = c"pmix.tmpdir";
pub const PMIX_NSDIR: &::std::ffi::CStr = c"pmix.nsdir";
pub const PMIX_PROCDIR: &::std::ffi::CStr = c"pmix.pdir";
pub const PMIX_TDIR_RMCLEAN: &::std::ffi::CStr = c"pmix.tdir.rmclean";
pub const PMIX_CLUSTER_ID: &::std::ffi::CStr = c"pmix.clid";
pub const PMIX_PROCID: &::std::ffi::CStr = c"pmix.procid";
pub const PMIX_NSPACE: &::std::ffi::CStr = c"pmix.nspace";
pub const PMIX_JOBID: &::std::ffi::CStr = c"pmix.jobid";
pub const PMIX_APPNUM: &::std::ffi::CStr = c"pmix.appnum";
pub const PMIX_RANK: &::std::ffi::CStr = c"pmix.rank";
pub const PMIX_GLOBAL_RANK: &::std::ffi::CStr = c"pmix.grank";
pub const PMIX_APP_RANK: &::std::ffi::CStr = c"pmix.apprank";
pub const PMIX_NPROC_OFFSET: &::std::ffi::CStr = c"pmix.offset";
pub const PMIX_LOCAL_RANK: &::std::ffi::CStr = c"pmix.lrank";
pub const PMIX_NODE_RANK: &::std::ffi::CStr = c"pmix.nrank";
pub const PMIX_PACKAGE_RANK: &::std::ffi::CStr = c"pmix.pkgrank";
pub const PMIX_LOCALLDR: &::std::ffi::CStr = c"pmix.lldr";
pub const PMIX_APPLDR: &::std::ffi::CStr = c"pmix.aldr";
pub const PMIX_PROC_PID: &::std::ffi::CStr = c"pmix.ppid";
pub const PMIX_SESSION_ID: &::std::ffi::CStr = c"pmix.session.id";
pub const PMIX_NODE_LIST: &::std::ffi::CStr = c"pmix.nlist";
pub const PMIX_ALLOCATED_NODELIST: &::std::ffi::CStr = c"pmix.alist";
pub const PMIX_HOSTNAME: &::std::ffi::CStr = c"pmix.hname";
pub const PMIX_HOSTNAME_ALIASES: &::std::ffi::CStr = c"pmix.alias";
pub const PMIX_HOSTNAME_KEEP_FQDN: &::std::ffi::CStr = c"pmix.fqdn";
pub const PMIX_NODEID: &::std::ffi::CStr = c"pmix.nodeid";
pub const PMIX_LOCAL_PEERS: &::std::ffi::CStr = c"pmix.lpeers";
pub const PMIX_LOCAL_PROCS: &::std::ffi::CStr = c"pmix.lprocs";
pub const PMIX_LOCAL_CPUSETS: &::std::ffi::CStr = c"pmix.lcpus";
pub const PMIX_PARENT_ID: &::std::ffi::CStr = c"pmix.parent";
pub const PMIX_EXIT_CODE: &::std::ffi::CStr = c"pmix.exit.code";
pub const PMIX_UNIV_SIZE: &::std::ffi::CStr = c"pmix.univ.size";
pub const PMIX_JOB_SIZE: &::std::ffi::CStr = c"pmix.job.size";
pub const PMIX_JOB_NUM_APPS: &::std::ffi::CStr = c"pmix.job.napps";
pub const PMIX_APP_SIZE: &::std::ffi::CStr = c"pmix.app.size";
pub const PMIX_LOCAL_SIZE: &::std::ffi::CStr = c"pmix.local.size";
pub const PMIX_NODE_SIZE: &::std::ffi::CStr = c"pmix.node.size";
pub const PMIX_MAX_PROCS: &::std::ffi::CStr = c"pmix.max.size";
pub const PMIX_NUM_SLOTS: &::std::ffi::CStr = c"pmix.num.slots";
pub const PMIX_NUM_NODES: &::std::ffi::CStr = c"pmix.num.nodes";
pub const PMIX_NUM_ALLOCATED_NODES: &::std::ffi::CStr = c"pmix.num.anodes";
pub const PMIX_AVAIL_PHYS_MEMORY: &::std::ffi::CStr = c"pmix.pmem";
pub const PMIX_DAEMON_MEMORY: &::std::ffi::CStr = c"pmix.dmn.mem";
pub const PMIX_CLIENT_AVG_MEMORY: &::std::ffi::CStr = c"pmix.cl.mem.avg";
pub const PMIX_TOPOLOGY2: &::std::ffi::CStr = c"pmix.topo2";
pub const PMIX_LOCALITY_STRING: &::std::ffi::CStr = c"pmix.locstr";
pub const PMIX_COLLECT_DATA: &::std::ffi::CStr = c"pmix.collect";
pub const PMIX_ALL_CLONES_PARTICIPATE: &::std::ffi::CStr = c"pmix.clone.part";
pub const PMIX_COLLECT_GENERATED_JOB_INFO: &::std::ffi::CStr = c"pmix.collect.gen";
pub const PMIX_TIMEOUT: &::std::ffi::CStr = c"pmix.timeout";
pub const PMIX_IMMEDIATE: &::std::ffi::CStr = c"pmix.immediate";
pub const PMIX_WAIT: &::std::ffi::CStr = c"pmix.wait";
pub const PMIX_NOTIFY_COMPLETION: &::std::ffi::CStr = c"pmix.notecomp";
pub const PMIX_RANGE: &::std::ffi::CStr = c"pmix.range";
pub const PMIX_PERSISTENCE: &::std::ffi::CStr = c"pmix.persist";
pub const PMIX_DATA_SCOPE: &::std::ffi::CStr = c"pmix.scope";
pub const PMIX_OPTIONAL: &::std::ffi::CStr = c"pmix.optional";
pub const PMIX_GET_STATIC_VALUES: &::std::ffi::CStr = c"pmix.get.static";
pub const PMIX_GET_POINTER_VALUES: &::std::ffi::CStr = c"pmix.get.pntrs";
pub const PMIX_EMBED_BARRIER: &::std::ffi::CStr = c"pmix.embed.barrier";
pub const PMIX_JOB_TERM_STATUS: &::std::ffi::CStr = c"pmix.job.term.status";
pub const PMIX_PROC_TERM_STATUS: &::std::ffi::CStr = c"pmix.proc.term.status";
pub const PMIX_PROC_STATE_STATUS: &::std::ffi::CStr = c"pmix.proc.state";
pub const PMIX_GET_REFRESH_CACHE: &::std::ffi::CStr = c"pmix.get.refresh";
pub const PMIX_ACCESS_PERMISSIONS: &::std::ffi::CStr = c"pmix.aperms";
pub const PMIX_ACCESS_USERIDS: &::std::ffi::CStr = c"pmix.auids";
pub const PMIX_ACCESS_GRPIDS: &::std::ffi::CStr = c"pmix.agids";
pub const PMIX_WAIT_FOR_CONNECTION: &::std::ffi::CStr = c"pmix.wait.conn";
pub const PMIX_QUALIFIED_VALUE: &::std::ffi::CStr = c"pmix.qual.val";
pub const PMIX_REGISTER_NODATA: &::std::ffi::CStr = c"pmix.reg.nodata";
pub const PMIX_NODE_MAP: &::std::ffi::CStr = c"pmix.nmap";
pub const PMIX_NODE_MAP_RAW: &::std::ffi::CStr = c"pmix.nmap.raw";
pub const PMIX_PROC_MAP: &::std::ffi::CStr = c"pmix.pmap";
pub const PMIX_PROC_MAP_RAW: &::std::ffi::CStr = c"pmix.pmap.raw";
pub const PMIX_ANL_MAP: &::std::ffi::CStr = c"pmix.anlmap";
pub const PMIX_APP_MAP_TYPE: &::std::ffi::CStr = c"pmix.apmap.type";
pub const PMIX_APP_MAP_REGEX: &::std::ffi::CStr = c"pmix.apmap.regex";
pub const PMIX_REQUIRED_KEY: &::std::ffi::CStr = c"pmix.req.key";
pub const PMIX_LOCAL_COLLECTIVE_STATUS: &::std::ffi::CStr = c"pmix.loc.col.st";
pub const PMIX_SORTED_PROC_ARRAY: &::std::ffi::CStr = c"pmix.sorted.parr";
pub const PMIX_EVENT_HDLR_NAME: &::std::ffi::CStr = c"pmix.evname";
pub const PMIX_EVENT_HDLR_FIRST: &::std::ffi::CStr = c"pmix.evfirst";
pub const PMIX_EVENT_HDLR_LAST: &::std::ffi::CStr = c"pmix.evlast";
pub const PMIX_EVENT_HDLR_FIRST_IN_CATEGORY: &::std::ffi::CStr = c"pmix.evfirstcat";
pub const PMIX_EVENT_HDLR_LAST_IN_CATEGORY: &::std::ffi::CStr = c"pmix.evlastcat";
pub const PMIX_EVENT_HDLR_BEFORE: &::std::ffi::CStr = c"pmix.evbefore";
pub const PMIX_EVENT_HDLR_AFTER: &::std::ffi::CStr = c"pmix.evafter";
pub const PMIX_EVENT_HDLR_PREPEND: &::std::ffi::CStr = c"pmix.evprepend";
pub const PMIX_EVENT_HDLR_APPEND: &::std::ffi::CStr = c"pmix.evappend";
pub const PMIX_EVENT_CUSTOM_RANGE: &::std::ffi::CStr = c"pmix.evrange";
pub const PMIX_EVENT_AFFECTED_PROC: &::std::ffi::CStr = c"pmix.evproc";
pub const PMIX_EVENT_AFFECTED_PROCS: &::std::ffi::CStr = c"pmix.evaffected";
pub const PMIX_EVENT_NON_DEFAULT: &::std::ffi::CStr = c"pmix.evnondef";
pub const PMIX_EVENT_RETURN_OBJECT: &::std::ffi::CStr = c"pmix.evobject";
pub const PMIX_EVENT_DO_NOT_CACHE: &::std::ffi::CStr = c"pmix.evnocache";
pub const PMIX_EVENT_SILENT_TERMINATION: &::std::ffi::CStr = c"pmix.evsilentterm";
pub const PMIX_EVENT_PROXY: &::std::ffi::CStr = c"pmix.evproxy";
pub const PMIX_EVENT_TEXT_MESSAGE: &::std::ffi::CStr = c"pmix.evtext";
pub const PMIX_EVENT_TIMESTAMP: &::std::ffi::CStr = c"pmix.evtstamp";
pub const PMIX_EVENT_ONESHOT: &::std::ffi::CStr = c"pmix.evone";
pub const PMIX_EVENT_TERMINATE_SESSION: &::std::ffi::CStr = c"pmix.evterm.sess";
pub const PMIX_EVENT_TERMINATE_JOB: &::std::ffi::CStr = c"pmix.evterm.job";
pub const PMIX_EVENT_TERMINATE_NODE: &::std::ffi::CStr = c"pmix.evterm.node";
pub const PMIX_EVENT_TERMINATE_PROC: &::std::ffi::CStr = c"pmix.evterm.proc";
pub const PMIX_EVENT_ACTION_TIMEOUT: &::std::ffi::CStr = c"pmix.evtimeout";
pub const PMIX_PERSONALITY: &::std::ffi::CStr = c"pmix.pers";
pub const PMIX_HOST: &::std::ffi::CStr = c"pmix.host";
pub const PMIX_HOSTFILE: &::std::ffi::CStr = c"pmix.hostfile";
pub const PMIX_ADD_HOST: &::std::ffi::CStr = c"pmix.addhost";
pub const PMIX_ADD_HOSTFILE: &::std::ffi::CStr = c"pmix.addhostfile";
pub const PMIX_PREFIX: &::std::ffi::CStr = c"pmix.prefix";
pub const PMIX_WDIR: &::std::ffi::CStr = c"pmix.wdir";
pub const PMIX_WDIR_USER_SPECIFIED: &::std::ffi::CStr = c"pmix.wdir.user";
pub const PMIX_DISPLAY_MAP: &::std::ffi::CStr = c"pmix.dispmap";
pub const PMIX_DISPLAY_MAP_DETAILED: &::std::ffi::CStr = c"pmix.dispmapdet";
pub const PMIX_DISPLAY_ALLOCATION: &::std::ffi::CStr = c"pmix.dispalloc";
pub const PMIX_DISPLAY_TOPOLOGY: &::std::ffi::CStr = c"pmix.disptopo";
pub const PMIX_PPR: &::std::ffi::CStr = c"pmix.ppr";
pub const PMIX_MAPBY: &::std::ffi::CStr = c"pmix.mapby";
pub const PMIX_RANKBY: &::std::ffi::CStr = c"pmix.rankby";
pub const PMIX_BINDTO: &::std::ffi::CStr = c"pmix.bindto";
pub const PMIX_PRELOAD_BIN: &::std::ffi::CStr = c"pmix.preloadbin";
pub const PMIX_PRELOAD_FILES: &::std::ffi::CStr = c"pmix.preloadfiles";
pub const PMIX_STDIN_TGT: &::std::ffi::CStr = c"pmix.stdin";
pub const PMIX_DEBUGGER_DAEMONS: &::std::ffi::CStr = c"pmix.debugger";
pub const PMIX_COSPAWN_APP: &::std::ffi::CStr = c"pmix.cospawn";
pub const PMIX_COLOCATE_PROCS: &::std::ffi::CStr = c"pmix.colproc";
pub const PMIX_COLOCATE_NPERPROC: &::std::ffi::CStr = c"pmix.colnum.proc";
pub const PMIX_COLOCATE_NPERNODE: &::std::ffi::CStr = c"pmix.colnum.node";
pub const PMIX_SET_SESSION_CWD: &::std::ffi::CStr = c"pmix.ssncwd";
pub const PMIX_INDEX_ARGV: &::std::ffi::CStr = c"pmix.indxargv";
pub const PMIX_CPUS_PER_PROC: &::std::ffi::CStr = c"pmix.cpuperproc";
pub const PMIX_NO_PROCS_ON_HEAD: &::std::ffi::CStr = c"pmix.nolocal";
pub const PMIX_NO_OVERSUBSCRIBE: &::std::ffi::CStr = c"pmix.noover";
pub const PMIX_REPORT_BINDINGS: &::std::ffi::CStr = c"pmix.repbind";
pub const PMIX_CPU_LIST: &::std::ffi::CStr = c"pmix.cpulist";
pub const PMIX_JOB_RECOVERABLE: &::std::ffi::CStr = c"pmix.recover";
pub const PMIX_JOB_CONTINUOUS: &::std::ffi::CStr = c"pmix.continuous";
pub const PMIX_MAX_RESTARTS: &::std::ffi::CStr = c"pmix.maxrestarts";
pub const PMIX_FWD_STDIN: &::std::ffi::CStr = c"pmix.fwd.stdin";
pub const PMIX_FWD_STDOUT: &::std::ffi::CStr = c"pmix.fwd.stdout";
pub const PMIX_FWD_STDERR: &::std::ffi::CStr = c"pmix.fwd.stderr";
pub const PMIX_FWD_STDDIAG: &::std::ffi::CStr = c"pmix.fwd.stddiag";
pub const PMIX_SPAWN_TOOL: &::std::ffi::CStr = c"pmix.spwn.tool";
pub const PMIX_CMD_LINE: &::std::ffi::CStr = c"pmix.cmd.line";
pub const PMIX_FORKEXEC_AGENT: &::std::ffi::CStr = c"pmix.fe.agnt";
pub const PMIX_JOB_TIMEOUT: &::std::ffi::CStr = c"pmix.job.time";
pub const PMIX_SPAWN_TIMEOUT: &::std::ffi::CStr = c"pmix.sp.time";
pub const PMIX_TIMEOUT_STACKTRACES: &::std::ffi::CStr = c"pmix.tim.stack";
pub const PMIX_TIMEOUT_REPORT_STATE: &::std::ffi::CStr = c"pmix.tim.state";
pub const PMIX_APP_ARGV: &::std::ffi::CStr = c"pmix.app.argv";
pub const PMIX_NOTIFY_JOB_EVENTS: &::std::ffi::CStr = c"pmix.note.jev";
pub const PMIX_NOTIFY_PROC_TERMINATION: &::std::ffi::CStr = c"pmix.noteproc";
pub const PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION: &::std::ffi::CStr = c"pmix.noteabproc";
pub const PMIX_ENVARS_HARVESTED: &::std::ffi::CStr = c"pmix.evar.hvstd";
pub const PMIX_RUNTIME_OPTIONS: &::std::ffi::CStr = c"pmix.runopt";
pub const PMIX_ABORT_NON_ZERO_TERM: &::std::ffi::CStr = c"pmix.abnz";
pub const PMIX_DO_NOT_LAUNCH: &::std::ffi::CStr = c"pmix.dnl";
pub const PMIX_SHOW_LAUNCH_PROGRESS: &::std::ffi::CStr = c"pmix.showprog";
pub const PMIX_AGGREGATE_HELP: &::std::ffi::CStr = c"pmix.agg.help";
pub const PMIX_REPORT_CHILD_SEP: &::std::ffi::CStr = c"pmix.rptchildsep";
pub const PMIX_QUERY_SUPPORTED_KEYS: &::std::ffi::CStr = c"pmix.qry.keys";
pub const PMIX_QUERY_NAMESPACES: &::std::ffi::CStr = c"pmix.qry.ns";
pub const PMIX_QUERY_NAMESPACE_INFO: &::std::ffi::CStr = c"pmix.qry.nsinfo";
pub const PMIX_QUERY_JOB_STATUS: &::std::ffi::CStr = c"pmix.qry.jst";
pub const PMIX_QUERY_QUEUE_LIST: &::std::ffi::CStr = c"pmix.qry.qlst";
pub const PMIX_QUERY_QUEUE_STATUS: &::std::ffi::CStr = c"pmix.qry.qst";
pub const PMIX_QUERY_PROC_TABLE: &::std::ffi::CStr = c"pmix.qry.ptable";
pub const PMIX_QUERY_LOCAL_PROC_TABLE: &::std::ffi::CStr = c"pmix.qry.lptable";
pub const PMIX_QUERY_AUTHORIZATIONS: &::std::ffi::CStr = c"pmix.qry.auths";
pub const PMIX_QUERY_SPAWN_SUPPORT: &::std::ffi::CStr = c"pmix.qry.spawn";
pub const PMIX_QUERY_DEBUG_SUPPORT: &::std::ffi::CStr = c"pmix.qry.debug";
pub const PMIX_QUERY_MEMORY_USAGE: &::std::ffi::CStr = c"pmix.qry.mem";
pub const PMIX_QUERY_ALLOC_STATUS: &::std::ffi::CStr = c"pmix.query.alloc";
pub const PMIX_TIME_REMAINING: &::std::ffi::CStr = c"pmix.time.remaining";
pub const PMIX_QUERY_NUM_PSETS: &::std::ffi::CStr = c"pmix.qry.psetnum";
pub const PMIX_QUERY_PSET_NAMES: &::std::ffi::CStr = c"pmix.qry.psets";
pub const PMIX_QUERY_PSET_MEMBERSHIP: &::std::ffi::CStr = c"pmix.qry.pmems";
pub const PMIX_QUERY_NUM_GROUPS: &::std::ffi::CStr = c"pmix.qry.pgrpnum";
pub const PMIX_QUERY_GROUP_NAMES: &::std::ffi::CStr = c"pmix.qry.pgrp";
pub const PMIX_QUERY_GROUP_MEMBERSHIP: &::std::ffi::CStr = c"pmix.qry.pgrpmems";
pub const PMIX_QUERY_ATTRIBUTE_SUPPORT: &::std::ffi::CStr = c"pmix.qry.attrs";
pub const PMIX_CLIENT_FUNCTIONS: &::std::ffi::CStr = c"pmix.client.fns";
pub const PMIX_SERVER_FUNCTIONS: &::std::ffi::CStr = c"pmix.srvr.fns";
pub const PMIX_TOOL_FUNCTIONS: &::std::ffi::CStr = c"pmix.tool.fns";
pub const PMIX_HOST_FUNCTIONS: &::std::ffi::CStr = c"pmix.host.fns";
pub const PMIX_QUERY_AVAIL_SERVERS: &::std::ffi::CStr = c"pmix.qry.asrvrs";
pub const PMIX_QUERY_QUALIFIERS: &::std::ffi::CStr = c"pmix.qry.quals";
pub const PMIX_QUERY_RESULTS: &::std::ffi::CStr = c"pmix.qry.res";
pub const PMIX_QUERY_REFRESH_CACHE: &::std::ffi::CStr = c"pmix.qry.rfsh";
pub const PMIX_QUERY_LOCAL_ONLY: &::std::ffi::CStr = c"pmix.qry.local";
pub const PMIX_QUERY_REPORT_AVG: &::std::ffi::CStr = c"pmix.qry.avg";
pub const PMIX_QUERY_REPORT_MINMAX: &::std::ffi::CStr = c"pmix.qry.minmax";
pub const PMIX_CLIENT_ATTRIBUTES: &::std::ffi::CStr = c"pmix.client.attrs";
pub const PMIX_SERVER_ATTRIBUTES: &::std::ffi::CStr = c"pmix.srvr.attrs";
pub const PMIX_HOST_ATTRIBUTES: &::std::ffi::CStr = c"pmix.host.attrs";
pub const PMIX_TOOL_ATTRIBUTES: &::std::ffi::CStr = c"pmix.tool.attrs";
pub const PMIX_QUERY_SUPPORTED_QUALIFIERS: &::std::ffi::CStr = c"pmix.qry.quals";
pub const PMIX_SESSION_INFO: &::std::ffi::CStr = c"pmix.ssn.info";
pub const PMIX_JOB_INFO: &::std::ffi::CStr = c"pmix.job.info";
pub const PMIX_APP_INFO: &::std::ffi::CStr = c"pmix.app.info";
pub const PMIX_NODE_INFO: &::std::ffi::CStr = c"pmix.node.info";
pub const PMIX_SESSION_INFO_ARRAY: &::std::ffi::CStr = c"pmix.ssn.arr";
pub const PMIX_JOB_INFO_ARRAY: &::std::ffi::CStr = c"pmix.job.arr";
pub const PMIX_APP_INFO_ARRAY: &::std::ffi::CStr = c"pmix.app.arr";
pub const PMIX_PROC_INFO_ARRAY: &::std::ffi::CStr = c"pmix.pdata";
pub const PMIX_NODE_INFO_ARRAY: &::std::ffi::CStr = c"pmix.node.arr";
pub const PMIX_SERVER_INFO_ARRAY: &::std::ffi::CStr = c"pmix.srv.arr";
pub const PMIX_LOG_SOURCE: &::std::ffi::CStr = c"pmix.log.source";
pub const PMIX_LOG_STDERR: &::std::ffi::CStr = c"pmix.log.stderr";
pub const PMIX_LOG_STDOUT: &::std::ffi::CStr = c"pmix.log.stdout";
pub const PMIX_LOG_SYSLOG: &::std::ffi::CStr = c"pmix.log.syslog";
pub const PMIX_LOG_LOCAL_SYSLOG: &::std::ffi::CStr = c"pmix.log.lsys";
pub const PMIX_LOG_GLOBAL_SYSLOG: &::std::ffi::CStr = c"pmix.log.gsys";
pub const PMIX_LOG_SYSLOG_PRI: &::std::ffi::CStr = c"pmix.log.syspri";
pub const PMIX_LOG_TIMESTAMP: &::std::ffi::CStr = c"pmix.log.tstmp";
pub const PMIX_LOG_GENERATE_TIMESTAMP: &::std::ffi::CStr = c"pmix.log.gtstmp";
pub const PMIX_LOG_TAG_OUTPUT: &::std::ffi::CStr = c"pmix.log.tag";
pub const PMIX_LOG_TIMESTAMP_OUTPUT: &::std::ffi::CStr = c"pmix.log.tsout";
pub const PMIX_LOG_XML_OUTPUT: &::std::ffi::CStr = c"pmix.log.xml";
pub const PMIX_LOG_ONCE: &::std::ffi::CStr = c"pmix.log.once";
pub const PMIX_LOG_MSG: &::std::ffi::CStr = c"pmix.log.msg";
pub const PMIX_LOG_KEY: &::std::ffi::CStr = c"pmix.log.key";
pub const PMIX_LOG_VAL: &::std::ffi::CStr = c"pmix.log.val";
pub const PMIX_LOG_AGG: &::std::ffi::CStr = c"pmix.log.agg";
pub const PMIX_LOG_EMAIL: &::std::ffi::CStr = c"pmix.log.email";
pub const PMIX_LOG_EMAIL_ADDR: &::std::ffi::CStr = c"pmix.log.emaddr";
pub const PMIX_LOG_EMAIL_SENDER_ADDR: &::std::ffi::CStr = c"pmix.log.emfaddr";
pub const PMIX_LOG_EMAIL_SUBJECT: &::std::ffi::CStr = c"pmix.log.emsub";
pub const PMIX_LOG_EMAIL_MSG: &::std::ffi::CStr = c"pmix.log.emmsg";
pub const PMIX_LOG_EMAIL_SERVER: &::std::ffi::CStr = c"pmix.log.esrvr";
pub const PMIX_LOG_EMAIL_SRVR_PORT: &::std::ffi::CStr = c"pmix.log.esrvrprt";
pub const PMIX_LOG_GLOBAL_DATASTORE: &::std::ffi::CStr = c"pmix.log.gstore";
pub const PMIX_LOG_JOB_RECORD: &::std::ffi::CStr = c"pmix.log.jrec";
pub const PMIX_LOG_PROC_TERMINATION: &::std::ffi::CStr = c"pmix.logproc";
pub const PMIX_LOG_PROC_ABNORMAL_TERMINATION: &::std::ffi::CStr = c"pmix.logabproc";
pub const PMIX_LOG_JOB_EVENTS: &::std::ffi::CStr = c"pmix.log.jev";
pub const PMIX_LOG_COMPLETION: &::std::ffi::CStr = c"pmix.logcomp";
pub const PMIX_DEBUG_STOP_ON_EXEC: &::std::ffi::CStr = c"pmix.dbg.exec";
pub const PMIX_DEBUG_STOP_IN_INIT: &::std::ffi::CStr = c"pmix.dbg.init";
pub const PMIX_DEBUG_STOP_IN_APP: &::std::ffi::CStr = c"pmix.dbg.notify";
pub const PMIX_BREAKPOINT: &::std::ffi::CStr = c"pmix.brkpnt";
pub const PMIX_DEBUG_TARGET: &::std::ffi::CStr = c"pmix.dbg.tgt";
pub const PMIX_DEBUG_DAEMONS_PER_PROC: &::std::ffi::CStr = c"pmix.dbg.dpproc";
pub const PMIX_DEBUG_DAEMONS_PER_NODE: &::std::ffi::CStr = c"pmix.dbg.dpnd";
pub const PMIX_RM_NAME: &::std::ffi::CStr = c"pmix.rm.name";
pub const PMIX_RM_VERSION: &::std::ffi::CStr = c"pmix.rm.version";
pub const PMIX_SET_ENVAR: &::std::ffi::CStr = c"pmix.envar.set";
pub const PMIX_ADD_ENVAR: &::std::ffi::CStr = c"pmix.envar.add";
pub const PMIX_UNSET_ENVAR: &::std::ffi::CStr = c"pmix.envar.unset";
pub const PMIX_PREPEND_ENVAR: &::std::ffi::CStr = c"pmix.envar.prepnd";
pub const PMIX_APPEND_ENVAR: &::std::ffi::CStr = c"pmix.envar.appnd";
pub const PMIX_FIRST_ENVAR: &::std::ffi::CStr = c"pmix.envar.first";
pub const PMIX_ALLOC_REQ_ID: &::std::ffi::CStr = c"pmix.alloc.reqid";
pub const PMIX_ALLOC_ID: &::std::ffi::CStr = c"pmix.alloc.id";
pub const PMIX_ALLOC_NUM_NODES: &::std::ffi::CStr = c"pmix.alloc.nnodes";
pub const PMIX_ALLOC_NODE_LIST: &::std::ffi::CStr = c"pmix.alloc.nlist";
pub const PMIX_ALLOC_NUM_CPUS: &::std::ffi::CStr = c"pmix.alloc.ncpus";
pub const PMIX_ALLOC_NUM_CPU_LIST: &::std::ffi::CStr = c"pmix.alloc.ncpulist";
pub const PMIX_ALLOC_CPU_LIST: &::std::ffi::CStr = c"pmix.alloc.cpulist";
pub const PMIX_ALLOC_MEM_SIZE: &::std::ffi::CStr = c"pmix.alloc.msize";
pub const PMIX_ALLOC_FABRIC: &::std::ffi::CStr = c"pmix.alloc.net";
pub const PMIX_ALLOC_FABRIC_ID: &::std::ffi::CStr = c"pmix.alloc.netid";
pub const PMIX_ALLOC_BANDWIDTH: &::std::ffi::CStr = c"pmix.alloc.bw";
pub const PMIX_ALLOC_FABRIC_QOS: &::std::ffi::CStr = c"pmix.alloc.netqos";
pub const PMIX_ALLOC_TIME: &::std::ffi::CStr = c"pmix.alloc.time";
pub const PMIX_ALLOC_FABRIC_TYPE: &::std::ffi::CStr = c"pmix.alloc.nettype";
pub const PMIX_ALLOC_FABRIC_PLANE: &::std::ffi::CStr = c"pmix.alloc.netplane";
pub const PMIX_ALLOC_FABRIC_ENDPTS: &::std::ffi::CStr = c"pmix.alloc.endpts";
pub const PMIX_ALLOC_FABRIC_ENDPTS_NODE: &::std::ffi::CStr = c"pmix.alloc.endpts.nd";
pub const PMIX_ALLOC_FABRIC_SEC_KEY: &::std::ffi::CStr = c"pmix.alloc.nsec";
pub const PMIX_ALLOC_QUEUE: &::std::ffi::CStr = c"pmix.alloc.queue";
pub const PMIX_JOB_CTRL_ID: &::std::ffi::CStr = c"pmix.jctrl.id";
pub const PMIX_JOB_CTRL_PAUSE: &::std::ffi::CStr = c"pmix.jctrl.pause";
pub const PMIX_JOB_CTRL_RESUME: &::std::ffi::CStr = c"pmix.jctrl.resume";
pub const PMIX_JOB_CTRL_CANCEL: &::std::ffi::CStr = c"pmix.jctrl.cancel";
pub const PMIX_JOB_CTRL_KILL: &::std::ffi::CStr = c"pmix.jctrl.kill";
pub const PMIX_JOB_CTRL_RESTART: &::std::ffi::CStr = c"pmix.jctrl.restart";
pub const PMIX_JOB_CTRL_CHECKPOINT: &::std::ffi::CStr = c"pmix.jctrl.ckpt";
pub const PMIX_JOB_CTRL_CHECKPOINT_EVENT: &::std::ffi::CStr = c"pmix.jctrl.ckptev";
pub const PMIX_JOB_CTRL_CHECKPOINT_SIGNAL: &::std::ffi::CStr = c"pmix.jctrl.ckptsig";
pub const PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT: &::std::ffi::CStr = c"pmix.jctrl.ckptsig";
pub const PMIX_JOB_CTRL_CHECKPOINT_METHOD: &::std::ffi::CStr = c"pmix.jctrl.ckmethod";
pub const PMIX_JOB_CTRL_SIGNAL: &::std::ffi::CStr = c"pmix.jctrl.sig";
pub const PMIX_JOB_CTRL_PROVISION: &::std::ffi::CStr = c"pmix.jctrl.pvn";
pub const PMIX_JOB_CTRL_PROVISION_IMAGE: &::std::ffi::CStr = c"pmix.jctrl.pvnimg";
pub const PMIX_JOB_CTRL_PREEMPTIBLE: &::std::ffi::CStr = c"pmix.jctrl.preempt";
pub const PMIX_JOB_CTRL_TERMINATE: &::std::ffi::CStr = c"pmix.jctrl.term";
pub const PMIX_REGISTER_CLEANUP: &::std::ffi::CStr = c"pmix.reg.cleanup";
pub const PMIX_REGISTER_CLEANUP_DIR: &::std::ffi::CStr = c"pmix.reg.cleanupdir";
pub const PMIX_CLEANUP_RECURSIVE: &::std::ffi::CStr = c"pmix.clnup.recurse";
pub const PMIX_CLEANUP_EMPTY: &::std::ffi::CStr = c"pmix.clnup.empty";
pub const PMIX_CLEANUP_IGNORE: &::std::ffi::CStr = c"pmix.clnup.ignore";
pub const PMIX_CLEANUP_LEAVE_TOPDIR: &::std::ffi::CStr = c"pmix.clnup.lvtop";
pub const PMIX_MONITOR_ID: &::std::ffi::CStr = c"pmix.monitor.id";
pub const PMIX_MONITOR_CANCEL: &::std::ffi::CStr = c"pmix.monitor.cancel";
pub const PMIX_MONITOR_APP_CONTROL: &::std::ffi::CStr = c"pmix.monitor.appctrl";
pub const PMIX_MONITOR_HEARTBEAT: &::std::ffi::CStr = c"pmix.monitor.mbeat";
pub const PMIX_SEND_HEARTBEAT: &::std::ffi::CStr = c"pmix.monitor.beat";
pub const PMIX_MONITOR_HEARTBEAT_TIME: &::std::ffi::CStr = c"pmix.monitor.btime";
pub const PMIX_MONITOR_HEARTBEAT_DROPS: &::std::ffi::CStr = c"pmix.monitor.bdrop";
pub const PMIX_MONITOR_FILE: &::std::ffi::CStr = c"pmix.monitor.fmon";
pub const PMIX_MONITOR_FILE_SIZE: &::std::ffi::CStr = c"pmix.monitor.fsize";
pub const PMIX_MONITOR_FILE_ACCESS: &::std::ffi::CStr = c"pmix.monitor.faccess";
pub const PMIX_MONITOR_FILE_MODIFY: &::std::ffi::CStr = c"pmix.monitor.fmod";
pub const PMIX_MONITOR_FILE_CHECK_TIME: &::std::ffi::CStr = c"pmix.monitor.ftime";
pub const PMIX_MONITOR_FILE_DROPS: &::std::ffi::CStr = c"pmix.monitor.fdrop";
pub const PMIX_CRED_TYPE: &::std::ffi::CStr = c"pmix.sec.ctype";
pub const PMIX_CRYPTO_KEY: &::std::ffi::CStr = c"pmix.sec.key";
pub const PMIX_IOF_CACHE_SIZE: &::std::ffi::CStr = c"pmix.iof.csize";
pub const PMIX_IOF_DROP_OLDEST: &::std::ffi::CStr = c"pmix.iof.old";
pub const PMIX_IOF_DROP_NEWEST: &::std::ffi::CStr = c"pmix.iof.new";
pub const PMIX_IOF_BUFFERING_SIZE: &::std::ffi::CStr = c"pmix.iof.bsize";
pub const PMIX_IOF_BUFFERING_TIME: &::std::ffi::CStr = c"pmix.iof.btime";
pub const PMIX_IOF_COMPLETE: &::std::ffi::CStr = c"pmix.iof.cmp";
pub const PMIX_IOF_PUSH_STDIN: &::std::ffi::CStr = c"pmix.iof.stdin";
pub const PMIX_IOF_TAG_OUTPUT: &::std::ffi::CStr = c"pmix.iof.tag";
pub const PMIX_IOF_TAG_DETAILED_OUTPUT: &::std::ffi::CStr = c"pmix.iof.tagdet";
pub const PMIX_IOF_TAG_FULLNAME_OUTPUT: &::std::ffi::CStr = c"pmix.iof.tagfull";
pub const PMIX_IOF_RANK_OUTPUT: &::std::ffi::CStr = c"pmix.iof.rank";
pub const PMIX_IOF_TIMESTAMP_OUTPUT: &::std::ffi::CStr = c"pmix.iof.ts";
pub const PMIX_IOF_MERGE_STDERR_STDOUT: &::std::ffi::CStr = c"pmix.iof.mrg";
pub const PMIX_IOF_XML_OUTPUT: &::std::ffi::CStr = c"pmix.iof.xml";
pub const PMIX_IOF_OUTPUT_TO_FILE: &::std::ffi::CStr = c"pmix.iof.file";
pub const PMIX_IOF_FILE_PATTERN: &::std::ffi::CStr = c"pmix.iof.fpt";
pub const PMIX_IOF_OUTPUT_TO_DIRECTORY: &::std::ffi::CStr = c"pmix.iof.dir";
pub const PMIX_IOF_FILE_ONLY: &::std::ffi::CStr = c"pmix.iof.fonly";
pub const PMIX_IOF_COPY: &::std::ffi::CStr = c"pmix.iof.cpy";
pub const PMIX_IOF_REDIRECT: &::std::ffi::CStr = c"pmix.iof.redir";
pub const PMIX_IOF_LOCAL_OUTPUT: &::std::ffi::CStr = c"pmix.iof.local";
pub const PMIX_IOF_OUTPUT_RAW: &::std::ffi::CStr = c"pmix.iof.raw";
pub const PMIX_SETUP_APP_ENVARS: &::std::ffi::CStr = c"pmix.setup.env";
pub const PMIX_SETUP_APP_NONENVARS: &::std::ffi::CStr = c"pmix.setup.nenv";
pub const PMIX_SETUP_APP_ALL: &::std::ffi::CStr = c"pmix.setup.all";
pub const PMIX_GROUP_ID: &::std::ffi::CStr = c"pmix.grp.id";
pub const PMIX_GROUP_LEADER: &::std::ffi::CStr = c"pmix.grp.ldr";
pub const PMIX_GROUP_OPTIONAL: &::std::ffi::CStr = c"pmix.grp.opt";
pub const PMIX_GROUP_NOTIFY_TERMINATION: &::std::ffi::CStr = c"pmix.grp.notterm";
pub const PMIX_GROUP_FT_COLLECTIVE: &::std::ffi::CStr = c"pmix.grp.ftcoll";
pub const PMIX_GROUP_MEMBERSHIP: &::std::ffi::CStr = c"pmix.grp.mbrs";
pub const PMIX_GROUP_ASSIGN_CONTEXT_ID: &::std::ffi::CStr = c"pmix.grp.actxid";
pub const PMIX_GROUP_CONTEXT_ID: &::std::ffi::CStr = c"pmix.grp.ctxid";
pub const PMIX_GROUP_LOCAL_ONLY: &::std::ffi::CStr = c"pmix.grp.lcl";
pub const PMIX_GROUP_ENDPT_DATA: &::std::ffi::CStr = c"pmix.grp.endpt";
pub const PMIX_GROUP_NAMES: &::std::ffi::CStr = c"pmix.pgrp.nm";
pub const PMIX_GROUP_INFO: &::std::ffi::CStr = c"pmix.grp.info";
pub const PMIX_GROUP_LOCAL_CID: &::std::ffi::CStr = c"pmix.grp.lclid";
pub const PMIX_GROUP_ADD_MEMBERS: &::std::ffi::CStr = c"pmix.grp.add";
pub const PMIX_QUERY_STORAGE_LIST: &::std::ffi::CStr = c"pmix.strg.list";
pub const PMIX_STORAGE_CAPACITY_LIMIT: &::std::ffi::CStr = c"pmix.strg.cap";
pub const PMIX_STORAGE_OBJECT_LIMIT: &::std::ffi::CStr = c"pmix.strg.obj";
pub const PMIX_STORAGE_ID: &::std::ffi::CStr = c"pmix.strg.id";
pub const PMIX_STORAGE_PATH: &::std::ffi::CStr = c"pmix.strg.path";
pub const PMIX_STORAGE_TYPE: &::std::ffi::CStr = c"pmix.strg.type";
pub const PMIX_STORAGE_ACCESSIBILITY: &::std::ffi::CStr = c"pmix.strg.access";
pub const PMIX_STORAGE_ACCESS_TYPE: &::std::ffi::CStr = c"pmix.strg.atype";
pub const PMIX_STORAGE_BW_CUR: &::std::ffi::CStr = c"pmix.strg.bwcur";
pub const PMIX_STORAGE_BW_MAX: &::std::ffi::CStr = c"pmix.strg.bwmax";
pub const PMIX_STORAGE_CAPACITY_USED: &::std::ffi::CStr = c"pmix.strg.capuse";
pub const PMIX_STORAGE_IOPS_CUR: &::std::ffi::CStr = c"pmix.strg.iopscur";
pub const PMIX_STORAGE_IOPS_MAX: &::std::ffi::CStr = c"pmix.strg.iopsmax";
pub const PMIX_STORAGE_MEDIUM: &::std::ffi::CStr = c"pmix.strg.medium";
pub const PMIX_STORAGE_MINIMAL_XFER_SIZE: &::std::ffi::CStr = c"pmix.strg.minxfer";
pub const PMIX_STORAGE_OBJECTS_USED: &::std::ffi::CStr = c"pmix.strg.objuse";
pub const PMIX_STORAGE_PERSISTENCE: &::std::ffi::CStr = c"pmix.strg.persist";
pub const PMIX_STORAGE_SUGGESTED_XFER_SIZE: &::std::ffi::CStr = c"pmix.strg.sxfer";
pub const PMIX_STORAGE_VERSION: &::std::ffi::CStr = c"pmix.strg.ver";
pub const PMIX_FABRIC_COST_MATRIX: &::std::ffi::CStr = c"pmix.fab.cm";
pub const PMIX_FABRIC_GROUPS: &::std::ffi::CStr = c"pmix.fab.grps";
pub const PMIX_FABRIC_VENDOR: &::std::ffi::CStr = c"pmix.fab.vndr";
pub const PMIX_FABRIC_IDENTIFIER: &::std::ffi::CStr = c"pmix.fab.id";
pub const PMIX_FABRIC_INDEX: &::std::ffi::CStr = c"pmix.fab.idx";
pub const PMIX_FABRIC_COORDINATES: &::std::ffi::CStr = c"pmix.fab.coord";
pub const PMIX_FABRIC_DEVICE_VENDORID: &::std::ffi::CStr = c"pmix.fabdev.vendid";
pub const PMIX_FABRIC_NUM_DEVICES: &::std::ffi::CStr = c"pmix.fab.nverts";
pub const PMIX_FABRIC_DIMS: &::std::ffi::CStr = c"pmix.fab.dims";
pub const PMIX_FABRIC_PLANE: &::std::ffi::CStr = c"pmix.fab.plane";
pub const PMIX_FABRIC_SWITCH: &::std::ffi::CStr = c"pmix.fab.switch";
pub const PMIX_FABRIC_ENDPT: &::std::ffi::CStr = c"pmix.fab.endpt";
pub const PMIX_FABRIC_SHAPE: &::std::ffi::CStr = c"pmix.fab.shape";
pub const PMIX_FABRIC_SHAPE_STRING: &::std::ffi::CStr = c"pmix.fab.shapestr";
pub const PMIX_SWITCH_PEERS: &::std::ffi::CStr = c"pmix.speers";
pub const PMIX_FABRIC_DEVICE: &::std::ffi::CStr = c"pmix.fabdev";
pub const PMIX_FABRIC_DEVICES: &::std::ffi::CStr = c"pmix.fab.devs";
pub const PMIX_FABRIC_DEVICE_NAME: &::std::ffi::CStr = c"pmix.fabdev.nm";
pub const PMIX_FABRIC_DEVICE_INDEX: &::std::ffi::CStr = c"pmix.fabdev.idx";
pub const PMIX_FABRIC_DEVICE_VENDOR: &::std::ffi::CStr = c"pmix.fabdev.vndr";
pub const PMIX_FABRIC_DEVICE_BUS_TYPE: &::std::ffi::CStr = c"pmix.fabdev.btyp";
pub const PMIX_FABRIC_DEVICE_DRIVER: &::std::ffi::CStr = c"pmix.fabdev.driver";
pub const PMIX_FABRIC_DEVICE_FIRMWARE: &::std::ffi::CStr = c"pmix.fabdev.fmwr";
pub const PMIX_FABRIC_DEVICE_ADDRESS: &::std::ffi::CStr = c"pmix.fabdev.addr";
pub const PMIX_FABRIC_DEVICE_COORDINATES: &::std::ffi::CStr = c"pmix.fab.coord";
pub const PMIX_FABRIC_DEVICE_MTU: &::std::ffi::CStr = c"pmix.fabdev.mtu";
pub const PMIX_FABRIC_DEVICE_SPEED: &::std::ffi::CStr = c"pmix.fabdev.speed";
pub const PMIX_FABRIC_DEVICE_STATE: &::std::ffi::CStr = c"pmix.fabdev.state";
pub const PMIX_FABRIC_DEVICE_TYPE: &::std::ffi::CStr = c"pmix.fabdev.type";
pub const PMIX_FABRIC_DEVICE_PCI_DEVID: &::std::ffi::CStr = c"pmix.fabdev.pcidevid";
pub const PMIX_DEVICE_DISTANCES: &::std::ffi::CStr = c"pmix.dev.dist";
pub const PMIX_DEVICE_TYPE: &::std::ffi::CStr = c"pmix.dev.type";
pub const PMIX_DEVICE_ID: &::std::ffi::CStr = c"pmix.dev.id";
pub const PMIX_MAX_VALUE: &::std::ffi::CStr = c"pmix.descr.maxval";
pub const PMIX_MIN_VALUE: &::std::ffi::CStr = c"pmix.descr.minval";
pub const PMIX_ENUM_VALUE: &::std::ffi::CStr = c"pmix.descr.enum";
pub const PMIX_QUERY_STABLE_ABI_VERSION: &::std::ffi::CStr = c"pmix.qry.stabiver";
pub const PMIX_QUERY_PROVISIONAL_ABI_VERSION: &::std::ffi::CStr = c"pmix.qry.prabiver";
pub const PMIX_PROC_STATE_UNDEF: u32 = 0;
pub const PMIX_PROC_STATE_PREPPED: u32 = 1;
pub const PMIX_PROC_STATE_LAUNCH_UNDERWAY: u32 = 2;
pub const PMIX_PROC_STATE_RESTART: u32 = 3;
pub const PMIX_PROC_STATE_TERMINATE: u32 = 4;
pub const PMIX_PROC_STATE_RUNNING: u32 = 5;
pub const PMIX_PROC_STATE_CONNECTED: u32 = 6;
pub const PMIX_PROC_STATE_UNTERMINATED: u32 = 15;
pub const PMIX_PROC_STATE_TERMINATED: u32 = 20;
pub const PMIX_PROC_STATE_ERROR: u32 = 50;
pub const PMIX_PROC_STATE_KILLED_BY_CMD: u32 = 51;
pub const PMIX_PROC_STATE_ABORTED: u32 = 52;
pub const PMIX_PROC_STATE_FAILED_TO_START: u32 = 53;
pub const PMIX_PROC_STATE_ABORTED_BY_SIG: u32 = 54;
pub const PMIX_PROC_STATE_TERM_WO_SYNC: u32 = 55;
pub const PMIX_PROC_STATE_COMM_FAILED: u32 = 56;
pub const PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED: u32 = 57;
pub const PMIX_PROC_STATE_CALLED_ABORT: u32 = 58;
pub const PMIX_PROC_STATE_HEARTBEAT_FAILED: u32 = 59;
pub const PMIX_PROC_STATE_MIGRATING: u32 = 60;
pub const PMIX_PROC_STATE_CANNOT_RESTART: u32 = 61;
pub const PMIX_PROC_STATE_TERM_NON_ZERO: u32 = 62;
pub const PMIX_PROC_STATE_FAILED_TO_LAUNCH: u32 = 63;
pub const PMIX_JOB_STATE_UNDEF: u32 = 0;
pub const PMIX_JOB_STATE_AWAITING_ALLOC: u32 = 1;
pub const PMIX_JOB_STATE_LAUNCH_UNDERWAY: u32 = 2;
pub const PMIX_JOB_STATE_RUNNING: u32 = 3;
pub const PMIX_JOB_STATE_SUSPENDED: u32 = 4;
pub const PMIX_JOB_STATE_CONNECTED: u32 = 5;
pub const PMIX_JOB_STATE_UNTERMINATED: u32 = 15;
pub const PMIX_JOB_STATE_TERMINATED: u32 = 20;
pub const PMIX_JOB_STATE_TERMINATED_WITH_ERROR: u32 = 50;
pub const PMIX_SUCCESS: u32 = 0;
pub const PMIX_ERROR: i32 = -1;
pub const PMIX_ERR_PROC_RESTART: i32 = -4;
pub const PMIX_ERR_PROC_CHECKPOINT: i32 = -5;
pub const PMIX_ERR_PROC_MIGRATE: i32 = -6;
pub const PMIX_ERR_EXISTS: i32 = -11;
pub const PMIX_ERR_INVALID_CRED: i32 = -12;
pub const PMIX_ERR_WOULD_BLOCK: i32 = -15;
pub const PMIX_ERR_UNKNOWN_DATA_TYPE: i32 = -16;
pub const PMIX_ERR_TYPE_MISMATCH: i32 = -18;
pub const PMIX_ERR_UNPACK_INADEQUATE_SPACE: i32 = -19;
pub const PMIX_ERR_UNPACK_FAILURE: i32 = -20;
pub const PMIX_ERR_PACK_FAILURE: i32 = -21;
pub const PMIX_ERR_NO_PERMISSIONS: i32 = -23;
pub const PMIX_ERR_TIMEOUT: i32 = -24;
pub const PMIX_ERR_UNREACH: i32 = -25;
pub const PMIX_ERR_BAD_PARAM: i32 = -27;
pub const PMIX_ERR_RESOURCE_BUSY: i32 = -28;
pub const PMIX_ERR_OUT_OF_RESOURCE: i32 = -29;
pub const PMIX_ERR_INIT: i32 = -31;
pub const PMIX_ERR_NOMEM: i32 = -32;
pub const PMIX_ERR_NOT_FOUND: i32 = -46;
pub const PMIX_ERR_NOT_SUPPORTED: i32 = -47;
pub const PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED: i32 = -59;
pub const PMIX_ERR_COMM_FAILURE: i32 = -49;
pub const PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER: i32 = -50;
pub const PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES: i32 = -51;
pub const PMIX_ERR_PARTIAL_SUCCESS: i32 = -52;
pub const PMIX_ERR_DUPLICATE_KEY: i32 = -53;
pub const PMIX_ERR_EMPTY: i32 = -60;
pub const PMIX_ERR_LOST_CONNECTION: i32 = -61;
pub const PMIX_ERR_EXISTS_OUTSIDE_SCOPE: i32 = -62;
pub const PMIX_PROCESS_SET_DEFINE: i32 = -55;
pub const PMIX_PROCESS_SET_DELETE: i32 = -56;
pub const PMIX_DEBUGGER_RELEASE: i32 = -3;
pub const PMIX_READY_FOR_DEBUG: i32 = -58;
pub const PMIX_QUERY_PARTIAL_SUCCESS: i32 = -104;
pub const PMIX_JCTRL_CHECKPOINT: i32 = -106;
pub const PMIX_JCTRL_CHECKPOINT_COMPLETE: i32 = -107;
pub const PMIX_JCTRL_PREEMPT_ALERT: i32 = -108;
pub const PMIX_MONITOR_HEARTBEAT_ALERT: i32 = -109;
pub const PMIX_MONITOR_FILE_ALERT: i32 = -110;
pub const PMIX_PROC_TERMINATED: i32 = -111;
pub const PMIX_ERR_EVENT_REGISTRATION: i32 = -144;
pub const PMIX_MODEL_DECLARED: i32 = -147;
pub const PMIX_MODEL_RESOURCES: i32 = -151;
pub const PMIX_OPENMP_PARALLEL_ENTERED: i32 = -152;
pub const PMIX_OPENMP_PARALLEL_EXITED: i32 = -153;
pub const PMIX_LAUNCHER_READY: i32 = -155;
pub const PMIX_OPERATION_IN_PROGRESS: i32 = -156;
pub const PMIX_OPERATION_SUCCEEDED: i32 = -157;
pub const PMIX_ERR_INVALID_OPERATION: i32 = -158;
pub const PMIX_GROUP_INVITED: i32 = -159;
pub const PMIX_GROUP_LEFT: i32 = -160;
pub const PMIX_GROUP_INVITE_ACCEPTED: i32 = -161;
pub const PMIX_GROUP_INVITE_DECLINED: i32 = -162;
pub const PMIX_GROUP_INVITE_FAILED: i32 = -163;
pub const PMIX_GROUP_MEMBERSHIP_UPDATE: i32 = -164;
pub const PMIX_GROUP_CONSTRUCT_ABORT: i32 = -165;
pub const PMIX_GROUP_CONSTRUCT_COMPLETE: i32 = -166;
pub const PMIX_GROUP_LEADER_SELECTED: i32 = -167;
pub const PMIX_GROUP_LEADER_FAILED: i32 = -168;
pub const PMIX_GROUP_CONTEXT_ID_ASSIGNED: i32 = -169;
pub const PMIX_GROUP_MEMBER_FAILED: i32 = -170;
pub const PMIX_ERR_REPEAT_ATTR_REGISTRATION: i32 = -171;
pub const PMIX_ERR_IOF_FAILURE: i32 = -172;
pub const PMIX_ERR_IOF_COMPLETE: i32 = -173;
pub const PMIX_LAUNCH_COMPLETE: i32 = -174;
pub const PMIX_FABRIC_UPDATED: i32 = -175;
pub const PMIX_FABRIC_UPDATE_PENDING: i32 = -176;
pub const PMIX_FABRIC_UPDATE_ENDPOINTS: i32 = -113;
pub const PMIX_ERR_JOB_APP_NOT_EXECUTABLE: i32 = -177;
pub const PMIX_ERR_JOB_NO_EXE_SPECIFIED: i32 = -178;
pub const PMIX_ERR_JOB_FAILED_TO_MAP: i32 = -179;
pub const PMIX_ERR_JOB_CANCELED: i32 = -180;
pub const PMIX_ERR_JOB_FAILED_TO_LAUNCH: i32 = -181;
pub const PMIX_ERR_JOB_ABORTED: i32 = -182;
pub const PMIX_ERR_JOB_KILLED_BY_CMD: i32 = -183;
pub const PMIX_ERR_JOB_ABORTED_BY_SIG: i32 = -184;
pub const PMIX_ERR_JOB_TERM_WO_SYNC: i32 = -185;
pub const PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED: i32 = -186;
pub const PMIX_ERR_JOB_NON_ZERO_TERM: i32 = -187;
pub const PMIX_ERR_JOB_ALLOC_FAILED: i32 = -188;
pub const PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT: i32 = -189;
pub const PMIX_ERR_JOB_EXE_NOT_FOUND: i32 = -190;
pub const PMIX_ERR_JOB_WDIR_NOT_FOUND: i32 = -233;
pub const PMIX_ERR_JOB_INSUFFICIENT_RESOURCES: i32 = -234;
pub const PMIX_ERR_JOB_SYS_OP_FAILED: i32 = -235;
pub const PMIX_EVENT_JOB_START: i32 = -191;
pub const PMIX_EVENT_JOB_END: i32 = -145;
pub const PMIX_EVENT_SESSION_START: i32 = -192;
pub const PMIX_EVENT_SESSION_END: i32 = -193;
pub const PMIX_ERR_PROC_REQUESTED_ABORT: i32 = -8;
pub const PMIX_ERR_PROC_TERM_WO_SYNC: i32 = -200;
pub const PMIX_EVENT_PROC_TERMINATED: i32 = -201;
pub const PMIX_ERR_PROC_KILLED_BY_CMD: i32 = -400;
pub const PMIX_ERR_PROC_FAILED_TO_START: i32 = -401;
pub const PMIX_ERR_PROC_ABORTED_BY_SIG: i32 = -402;
pub const PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED: i32 = -403;
pub const PMIX_ERR_EXIT_NONZERO_TERM: i32 = -404;
pub const PMIX_EVENT_SYS_BASE: i32 = -230;
pub const PMIX_EVENT_NODE_DOWN: i32 = -231;
pub const PMIX_EVENT_NODE_OFFLINE: i32 = -232;
pub const PMIX_EVENT_SYS_OTHER: i32 = -330;
pub const PMIX_EVENT_NO_ACTION_TAKEN: i32 = -331;
pub const PMIX_EVENT_PARTIAL_ACTION_TAKEN: i32 = -332;
pub const PMIX_EVENT_ACTION_DEFERRED: i32 = -333;
pub const PMIX_EVENT_ACTION_COMPLETE: i32 = -334;
pub const PMIX_EXTERNAL_ERR_BASE: i32 = -3000;
pub const PMIX_UNDEF: u32 = 0;
pub const PMIX_BOOL: u32 = 1;
pub const PMIX_BYTE: u32 = 2;
pub const PMIX_STRING: u32 = 3;
pub const PMIX_SIZE: u32 = 4;
pub const PMIX_PID: u32 = 5;
pub const PMIX_INT: u32 = 6;
pub const PMIX_INT8: u32 = 7;
pub const PMIX_INT16: u32 = 8;
pub const PMIX_INT32: u32 = 9;
pub const PMIX_INT64: u32 = 10;
pub const PMIX_UINT: u32 = 11;
pub const PMIX_UINT8: u32 = 12;
pub const PMIX_UINT16: u32 = 13;
pub const PMIX_UINT32: u32 = 14;
pub const PMIX_UINT64: u32 = 15;
pub const PMIX_FLOAT: u32 = 16;
pub const PMIX_DOUBLE: u32 = 17;
pub const PMIX_TIMEVAL: u32 = 18;
pub const PMIX_TIME: u32 = 19;
pub const PMIX_STATUS: u32 = 20;
pub const PMIX_VALUE: u32 = 21;
pub const PMIX_PROC: u32 = 22;
pub const PMIX_APP: u32 = 23;
pub const PMIX_INFO: u32 = 24;
pub const PMIX_PDATA: u32 = 25;
pub const PMIX_BYTE_OBJECT: u32 = 27;
pub const PMIX_KVAL: u32 = 28;
pub const PMIX_PERSIST: u32 = 30;
pub const PMIX_POINTER: u32 = 31;
pub const PMIX_SCOPE: u32 = 32;
pub const PMIX_DATA_RANGE: u32 = 33;
pub const PMIX_COMMAND: u32 = 34;
pub const PMIX_INFO_DIRECTIVES: u32 = 35;
pub const PMIX_DATA_TYPE: u32 = 36;
pub const PMIX_PROC_STATE: u32 = 37;
pub const PMIX_PROC_INFO: u32 = 38;
pub const PMIX_DATA_ARRAY: u32 = 39;
pub const PMIX_PROC_RANK: u32 = 40;
pub const PMIX_QUERY: u32 = 41;
pub const PMIX_COMPRESSED_STRING: u32 = 42;
pub const PMIX_ALLOC_DIRECTIVE: u32 = 43;
pub const PMIX_IOF_CHANNEL: u32 = 45;
pub const PMIX_ENVAR: u32 = 46;
pub const PMIX_COORD: u32 = 47;
pub const PMIX_REGATTR: u32 = 48;
pub const PMIX_REGEX: u32 = 49;
pub const PMIX_JOB_STATE: u32 = 50;
pub const PMIX_LINK_STATE: u32 = 51;
pub const PMIX_PROC_CPUSET: u32 = 52;
pub const PMIX_GEOMETRY: u32 = 53;
pub const PMIX_DEVICE_DIST: u32 = 54;
pub const PMIX_ENDPOINT: u32 = 55;
pub const PMIX_TOPO: u32 = 56;
pub const PMIX_DEVTYPE: u32 = 57;
pub const PMIX_LOCTYPE: u32 = 58;
pub const PMIX_COMPRESSED_BYTE_OBJECT: u32 = 59;
pub const PMIX_PROC_NSPACE: u32 = 60;
pub const PMIX_PROC_STATS: u32 = 61;
pub const PMIX_DISK_STATS: u32 = 62;
pub const PMIX_NET_STATS: u32 = 63;
pub const PMIX_NODE_STATS: u32 = 64;
pub const PMIX_DATA_BUFFER: u32 = 65;
pub const PMIX_STOR_MEDIUM: u32 = 66;
pub const PMIX_STOR_ACCESS: u32 = 67;
pub const PMIX_STOR_PERSIST: u32 = 68;
pub const PMIX_STOR_ACCESS_TYPE: u32 = 69;
pub const PMIX_DATA_TYPE_MAX: u32 = 500;
pub const PMIX_SCOPE_UNDEF: u32 = 0;
pub const PMIX_LOCAL: u32 = 1;
pub const PMIX_REMOTE: u32 = 2;
pub const PMIX_GLOBAL: u32 = 3;
pub const PMIX_INTERNAL: u32 = 4;
pub const PMIX_RANGE_UNDEF: u32 = 0;
pub const PMIX_RANGE_RM: u32 = 1;
pub const PMIX_RANGE_LOCAL: u32 = 2;
pub const PMIX_RANGE_NAMESPACE: u32 = 3;
pub const PMIX_RANGE_SESSION: u32 = 4;
pub const PMIX_RANGE_GLOBAL: u32 = 5;
pub const PMIX_RANGE_CUSTOM: u32 = 6;
pub const PMIX_RANGE_PROC_LOCAL: u32 = 7;
pub const PMIX_RANGE_INVALID: u32 = 255;
pub const PMIX_PERSIST_INDEF: u32 = 0;
pub const PMIX_PERSIST_FIRST_READ: u32 = 1;
pub const PMIX_PERSIST_PROC: u32 = 2;
pub const PMIX_PERSIST_APP: u32 = 3;
pub const PMIX_PERSIST_SESSION: u32 = 4;
pub const PMIX_PERSIST_INVALID: u32 = 255;
pub const PMIX_INFO_REQD: u32 = 1;
pub const PMIX_INFO_ARRAY_END: u32 = 2;
pub const PMIX_INFO_REQD_PROCESSED: u32 = 4;
pub const PMIX_INFO_QUALIFIER: u32 = 8;
pub const PMIX_INFO_PERSISTENT: u32 = 16;
pub const PMIX_INFO_DIR_RESERVED: u32 = 4294901760;
pub const PMIX_ALLOC_NEW: u32 = 1;
pub const PMIX_ALLOC_EXTEND: u32 = 2;
pub const PMIX_ALLOC_RELEASE: u32 = 3;
pub const PMIX_ALLOC_REAQUIRE: u32 = 4;
pub const PMIX_ALLOC_EXTERNAL: u32 = 128;
pub const PMIX_FWD_NO_CHANNELS: u32 = 0;
pub const PMIX_FWD_STDIN_CHANNEL: u32 = 1;
pub const PMIX_FWD_STDOUT_CHANNEL: u32 = 2;
pub const PMIX_FWD_STDERR_CHANNEL: u32 = 4;
pub const PMIX_FWD_STDDIAG_CHANNEL: u32 = 8;
pub const PMIX_FWD_ALL_CHANNELS: u32 = 255;
pub const PMIX_STORAGE_MEDIUM_UNKNOWN: u32 = 1;
pub const PMIX_STORAGE_MEDIUM_TAPE: u32 = 2;
pub const PMIX_STORAGE_MEDIUM_HDD: u32 = 4;
pub const PMIX_STORAGE_MEDIUM_SSD: u32 = 8;
pub const PMIX_STORAGE_MEDIUM_NVME: u32 = 16;
pub const PMIX_STORAGE_MEDIUM_PMEM: u32 = 32;
pub const PMIX_STORAGE_MEDIUM_RAM: u32 = 64;
pub const PMIX_STORAGE_ACCESSIBILITY_NODE: u32 = 1;
pub const PMIX_STORAGE_ACCESSIBILITY_SESSION: u32 = 2;
pub const PMIX_STORAGE_ACCESSIBILITY_JOB: u32 = 4;
pub const PMIX_STORAGE_ACCESSIBILITY_RACK: u32 = 8;
pub const PMIX_STORAGE_ACCESSIBILITY_CLUSTER: u32 = 16;
pub const PMIX_STORAGE_ACCESSIBILITY_REMOTE: u32 = 32;
pub const PMIX_STORAGE_PERSISTENCE_TEMPORARY: u32 = 1;
pub const PMIX_STORAGE_PERSISTENCE_NODE: u32 = 2;
pub const PMIX_STORAGE_PERSISTENCE_SESSION: u32 = 4;
pub const PMIX_STORAGE_PERSISTENCE_JOB: u32 = 8;
pub const PMIX_STORAGE_PERSISTENCE_SCRATCH: u32 = 16;
pub const PMIX_STORAGE_PERSISTENCE_PROJECT: u32 = 32;
pub const PMIX_STORAGE_PERSISTENCE_ARCHIVE: u32 = 64;
pub const PMIX_STORAGE_ACCESS_RD: u32 = 1;
pub const PMIX_STORAGE_ACCESS_WR: u32 = 2;
pub const PMIX_STORAGE_ACCESS_RDWR: u32 = 3;
pub const PMIX_COORD_VIEW_UNDEF: u32 = 0;
pub const PMIX_COORD_LOGICAL_VIEW: u32 = 1;
pub const PMIX_COORD_PHYSICAL_VIEW: u32 = 2;
pub const PMIX_LINK_STATE_UNKNOWN: u32 = 0;
pub const PMIX_LINK_DOWN: u32 = 1;
pub const PMIX_LINK_UP: u32 = 2;
pub const PMIX_CPUBIND_PROCESS: u32 = 0;
pub const PMIX_CPUBIND_THREAD: u32 = 1;
pub const PMIX_LOCALITY_UNKNOWN: u32 = 0;
pub const PMIX_LOCALITY_NONLOCAL: u32 = 32768;
pub const PMIX_LOCALITY_SHARE_HWTHREAD: u32 = 1;
pub const PMIX_LOCALITY_SHARE_CORE: u32 = 2;
pub const PMIX_LOCALITY_SHARE_L1CACHE: u32 = 4;
pub const PMIX_LOCALITY_SHARE_L2CACHE: u32 = 8;
pub const PMIX_LOCALITY_SHARE_L3CACHE: u32 = 16;
pub const PMIX_LOCALITY_SHARE_PACKAGE: u32 = 32;
pub const PMIX_LOCALITY_SHARE_NUMA: u32 = 64;
pub const PMIX_LOCALITY_SHARE_NODE: u32 = 16384;
pub const PMIX_DEVTYPE_UNKNOWN: u32 = 0;
pub const PMIX_DEVTYPE_BLOCK: u32 = 1;
pub const PMIX_DEVTYPE_GPU: u32 = 2;
pub const PMIX_DEVTYPE_NETWORK: u32 = 4;
pub const PMIX_DEVTYPE_OPENFABRICS: u32 = 8;
pub const PMIX_DEVTYPE_DMA: u32 = 16;
pub const PMIX_DEVTYPE_COPROC: u32 = 32;
pub const PMIX_BUFFER: u32 = 26;
pub const PMIX_ERR_SILENT: i32 = -2;
pub const PMIX_ERR_DEBUGGER_RELEASE: i32 = -3;
pub const PMIX_ERR_PROC_ABORTED: i32 = -7;
pub const PMIX_ERR_PROC_ABORTING: i32 = -9;
pub const PMIX_ERR_SERVER_FAILED_REQUEST: i32 = -10;
pub const PMIX_EXISTS: i32 = -11;
pub const PMIX_ERR_HANDSHAKE_FAILED: i32 = -13;
pub const PMIX_ERR_READY_FOR_HANDSHAKE: i32 = -14;
pub const PMIX_ERR_PROC_ENTRY_NOT_FOUND: i32 = -17;
pub const PMIX_ERR_PACK_MISMATCH: i32 = -22;
pub const PMIX_ERR_IN_ERRNO: i32 = -26;
pub const PMIX_ERR_DATA_VALUE_NOT_FOUND: i32 = -30;
pub const PMIX_ERR_INVALID_ARG: i32 = -33;
pub const PMIX_ERR_INVALID_KEY: i32 = -34;
pub const PMIX_ERR_INVALID_KEY_LENGTH: i32 = -35;
pub const PMIX_ERR_INVALID_VAL: i32 = -36;
pub const PMIX_ERR_INVALID_VAL_LENGTH: i32 = -37;
pub const PMIX_ERR_INVALID_LENGTH: i32 = -38;
pub const PMIX_ERR_INVALID_NUM_ARGS: i32 = -39;
pub const PMIX_ERR_INVALID_ARGS: i32 = -40;
pub const PMIX_ERR_INVALID_NUM_PARSED: i32 = -41;
pub const PMIX_ERR_INVALID_KEYVALP: i32 = -42;
pub const PMIX_ERR_INVALID_SIZE: i32 = -43;
pub const PMIX_ERR_INVALID_NAMESPACE: i32 = -44;
pub const PMIX_ERR_SERVER_NOT_AVAIL: i32 = -45;
pub const PMIX_ERR_NOT_IMPLEMENTED: i32 = -48;
pub const PMIX_DEBUG_WAITING_FOR_NOTIFY: i32 = -58;
pub const PMIX_ERR_FATAL: i32 = -63;
pub const PMIX_ERR_NOT_AVAILABLE: i32 = -64;
pub const PMIX_ERR_VALUE_OUT_OF_BOUNDS: i32 = -65;
pub const PMIX_ERR_FILE_OPEN_FAILURE: i32 = -67;
pub const PMIX_ERR_FILE_READ_FAILURE: i32 = -68;
pub const PMIX_ERR_FILE_WRITE_FAILURE: i32 = -69;
pub const PMIX_ERR_SYS_LIMITS_PIPES: i32 = -70;
pub const PMIX_ERR_SYS_LIMITS_CHILDREN: i32 = -71;
pub const PMIX_ERR_PIPE_SETUP_FAILURE: i32 = -72;
pub const PMIX_ERR_EXE_NOT_ACCESSIBLE: i32 = -73;
pub const PMIX_ERR_JOB_WDIR_NOT_ACCESSIBLE: i32 = -74;
pub const PMIX_ERR_SYS_LIMITS_FILES: i32 = -75;
pub const PMIX_ERR_LOST_CONNECTION_TO_SERVER: i32 = -101;
pub const PMIX_ERR_LOST_PEER_CONNECTION: i32 = -102;
pub const PMIX_ERR_LOST_CONNECTION_TO_CLIENT: i32 = -103;
pub const PMIX_NOTIFY_ALLOC_COMPLETE: i32 = -105;
pub const PMIX_ERR_INVALID_TERMINATION: i32 = -112;
pub const PMIX_ERR_JOB_TERMINATED: i32 = -145;
pub const PMIX_ERR_UPDATE_ENDPOINTS: i32 = -146;
pub const PMIX_GDS_ACTION_COMPLETE: i32 = -148;
pub const PMIX_PROC_HAS_CONNECTED: i32 = -149;
pub const PMIX_CONNECT_REQUESTED: i32 = -150;
pub const PMIX_ERR_NODE_DOWN: i32 = -231;
pub const PMIX_ERR_NODE_OFFLINE: i32 = -232;
pub const PMIX_ERR_SYS_BASE: i32 = -230;
pub const PMIX_ERR_SYS_OTHER: i32 = -330;
pub const PMIX_JOB_STATE_PREPPED: u32 = 1;
pub const PMIX_EVENT_BASE: &::std::ffi::CStr = c"pmix.evbase";
pub const PMIX_TOPOLOGY: &::std::ffi::CStr = c"pmix.topo";
pub const PMIX_DEBUG_JOB: &::std::ffi::CStr = c"pmix.dbg.job";
pub const PMIX_RECONNECT_SERVER: &::std::ffi::CStr = c"pmix.cnct.recon";
pub const PMIX_USOCK_DISABLE: &::std::ffi::CStr = c"pmix.usock.disable";
pub const PMIX_SOCKET_MODE: &::std::ffi::CStr = c"pmix.sockmode";
pub const PMIX_SINGLE_LISTENER: &::std::ffi::CStr = c"pmix.sing.listnr";
pub const PMIX_ALLOC_NETWORK: &::std::ffi::CStr = c"pmix.alloc.net";
pub const PMIX_ALLOC_NETWORK_ID: &::std::ffi::CStr = c"pmix.alloc.netid";
pub const PMIX_ALLOC_NETWORK_QOS: &::std::ffi::CStr = c"pmix.alloc.netqos";
pub const PMIX_ALLOC_NETWORK_TYPE: &::std::ffi::CStr = c"pmix.alloc.nettype";
pub const PMIX_ALLOC_NETWORK_PLANE: &::std::ffi::CStr = c"pmix.alloc.netplane";
pub const PMIX_ALLOC_NETWORK_ENDPTS: &::std::ffi::CStr = c"pmix.alloc.endpts";
pub const PMIX_ALLOC_NETWORK_ENDPTS_NODE: &::std::ffi::CStr = c"pmix.alloc.endpts.nd";
pub const PMIX_ALLOC_NETWORK_SEC_KEY: &::std::ffi::CStr = c"pmix.alloc.nsec";
pub const PMIX_PROC_DATA: &::std::ffi::CStr = c"pmix.pdata";
pub const PMIX_LOCALITY: &::std::ffi::CStr = c"pmix.loc";
pub const PMIX_LOCAL_TOPO: &::std::ffi::CStr = c"pmix.ltopo";
pub const PMIX_TOPOLOGY_XML: &::std::ffi::CStr = c"pmix.topo.xml";
pub const PMIX_TOPOLOGY_FILE: &::std::ffi::CStr = c"pmix.topo.file";
pub const PMIX_TOPOLOGY_SIGNATURE: &::std::ffi::CStr = c"pmix.toposig";
pub const PMIX_HWLOC_SHMEM_ADDR: &::std::ffi::CStr = c"pmix.hwlocaddr";
pub const PMIX_HWLOC_SHMEM_SIZE: &::std::ffi::CStr = c"pmix.hwlocsize";
pub const PMIX_HWLOC_SHMEM_FILE: &::std::ffi::CStr = c"pmix.hwlocfile";
pub const PMIX_HWLOC_XML_V1: &::std::ffi::CStr = c"pmix.hwlocxml1";
pub const PMIX_HWLOC_XML_V2: &::std::ffi::CStr = c"pmix.hwlocxml2";
pub const PMIX_HWLOC_SHARE_TOPO: &::std::ffi::CStr = c"pmix.hwlocsh";
pub const PMIX_HWLOC_HOLE_KIND: &::std::ffi::CStr = c"pmix.hwlocholek";
pub const PMIX_DSTPATH: &::std::ffi::CStr = c"pmix.dstpath";
pub const PMIX_COLLECTIVE_ALGO: &::std::ffi::CStr = c"pmix.calgo";
pub const PMIX_COLLECTIVE_ALGO_REQD: &::std::ffi::CStr = c"pmix.calreqd";
pub const PMIX_PROC_BLOB: &::std::ffi::CStr = c"pmix.pblob";
pub const PMIX_MAP_BLOB: &::std::ffi::CStr = c"pmix.mblob";
pub const PMIX_MAPPER: &::std::ffi::CStr = c"pmix.mapper";
pub const PMIX_NON_PMI: &::std::ffi::CStr = c"pmix.nonpmi";
pub const PMIX_PROC_URI: &::std::ffi::CStr = c"pmix.puri";
pub const PMIX_ARCH: &::std::ffi::CStr = c"pmix.arch";
pub const PMIX_DEBUG_JOB_DIRECTIVES: &::std::ffi::CStr = c"pmix.dbg.jdirs";
pub const PMIX_DEBUG_APP_DIRECTIVES: &::std::ffi::CStr = c"pmix.dbg.adirs";
pub const PMIX_EVENT_NO_TERMINATION: &::std::ffi::CStr = c"pmix.evnoterm";
pub const PMIX_EVENT_WANT_TERMINATION: &::std::ffi::CStr = c"pmix.evterm";
pub const PMIX_TAG_OUTPUT: &::std::ffi::CStr = c"pmix.tagout";
pub const PMIX_TIMESTAMP_OUTPUT: &::std::ffi::CStr = c"pmix.tsout";
pub const PMIX_MERGE_STDERR_STDOUT: &::std::ffi::CStr = c"pmix.mergeerrout";
pub const PMIX_OUTPUT_TO_FILE: &::std::ffi::CStr = c"pmix.outfile";
pub const PMIX_OUTPUT_TO_DIRECTORY: &::std::ffi::CStr = c"pmix.outdir";
pub const PMIX_OUTPUT_NOCOPY: &::std::ffi::CStr = c"pmix.nocopy";
pub const PMIX_GDS_MODULE: &::std::ffi::CStr = c"pmix.gds.mod";
pub const PMIX_BFROPS_MODULE: &::std::ffi::CStr = c"pmix.bfrops.mod";
pub const PMIX_PNET_SETUP_APP: &::std::ffi::CStr = c"pmix.pnet.setapp";
pub const PMIX_IOF_STOP: &::std::ffi::CStr = c"pmix.iof.stop";
pub const PMIX_NOTIFY_LAUNCH: &::std::ffi::CStr = c"pmix.note.lnch";
pub type __uid_t = ::std::os::raw::c_uint;
pub type __gid_t = ::std::os::raw::c_uint;
pub type __pid_t = ::std::os::raw::c_int;
pub type __time_t = ::std::os::raw::c_long;
pub type __suseconds_t = ::std::os::raw::c_long;
pub type gid_t = __gid_t;
pub type uid_t = __uid_t;
pub type pid_t = __pid_t;
pub type time_t = __time_t;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct timeval {
    pub tv_sec: __time_t,
    pub tv_usec: __suseconds_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of timeval"][::std::mem::size_of::<timeval>() - 16usize];
    ["Alignment of timeval"][::std::mem::align_of::<timeval>() - 8usize];
    ["Offset of field: timeval::tv_sec"][::std::mem::offset_of!(timeval, tv_sec) - 0usize];
    ["Offset of field: timeval::tv_usec"][::std::mem::offset_of!(timeval, tv_usec) - 8usize];
};
pub type pmix_nspace_t = [::std::os::raw::c_char; 256usize];
pub type pmix_key_t = [::std::os::raw::c_char; 512usize];
pub type pmix_rank_t = u32;
pub type pmix_proc_state_t = u8;
pub type pmix_job_state_t = u8;
pub type pmix_status_t = ::std::os::raw::c_int;
pub type pmix_data_type_t = u16;
pub type pmix_scope_t = u8;
pub type pmix_data_range_t = u8;
pub type pmix_persistence_t = u8;
pub type pmix_info_directives_t = u32;
pub type pmix_alloc_directive_t = u8;
pub type pmix_iof_channel_t = u16;
pub const pmix_group_operation_t_PMIX_GROUP_CONSTRUCT: pmix_group_operation_t = 0;
pub const pmix_group_operation_t_PMIX_GROUP_DESTRUCT: pmix_group_operation_t = 1;
pub type pmix_group_operation_t = ::std::os::raw::c_uint;
pub type pmix_coord_view_t = u8;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_coord {
    pub view: pmix_coord_view_t,
    pub coord: *mut u32,
    pub dims: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_coord"][::std::mem::size_of::<pmix_coord>() - 24usize];
    ["Alignment of pmix_coord"][::std::mem::align_of::<pmix_coord>() - 8usize];
    ["Offset of field: pmix_coord::view"][::std::mem::offset_of!(pmix_coord, view) - 0usize];
    ["Offset of field: pmix_coord::coord"][::std::mem::offset_of!(pmix_coord, coord) - 8usize];
    ["Offset of field: pmix_coord::dims"][::std::mem::offset_of!(pmix_coord, dims) - 16usize];
};
pub type pmix_coord_t = pmix_coord;
pub type pmix_link_state_t = u8;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_cpuset_t {
    pub source: *mut ::std::os::raw::c_char,
    pub bitmap: *mut ::std::os::raw::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_cpuset_t"][::std::mem::size_of::<pmix_cpuset_t>() - 16usize];
    ["Alignment of pmix_cpuset_t"][::std::mem::align_of::<pmix_cpuset_t>() - 8usize];
    ["Offset of field: pmix_cpuset_t::source"][::std::mem::offset_of!(pmix_cpuset_t, source) - 0usize];
    ["Offset of field: pmix_cpuset_t::bitmap"][::std::mem::offset_of!(pmix_cpuset_t, bitmap) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_topology_t {
    pub source: *mut ::std::os::raw::c_char,
    pub topology: *mut ::std::os::raw::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_topology_t"][::std::mem::size_of::<pmix_topology_t>() - 16usize];
    ["Alignment of pmix_topology_t"][::std::mem::align_of::<pmix_topology_t>() - 8usize];
    ["Offset of field: pmix_topology_t::source"][::std::mem::offset_of!(pmix_topology_t, source) - 0usize];
    ["Offset of field: pmix_topology_t::topology"][::std::mem::offset_of!(pmix_topology_t, topology) - 8usize];
};
pub type pmix_locality_t = u16;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_geometry {
    pub fabric: usize,
    pub uuid: *mut ::std::os::raw::c_char,
    pub osname: *mut ::std::os::raw::c_char,
    pub coordinates: *mut pmix_coord_t,
    pub ncoords: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_geometry"][::std::mem::size_of::<pmix_geometry>() - 40usize];
    ["Alignment of pmix_geometry"][::std::mem::align_of::<pmix_geometry>() - 8usize];
    ["Offset of field: pmix_geometry::fabric"][::std::mem::offset_of!(pmix_geometry, fabric) - 0usize];
    ["Offset of field: pmix_geometry::uuid"][::std::mem::offset_of!(pmix_geometry, uuid) - 8usize];
    ["Offset of field: pmix_geometry::osname"][::std::mem::offset_of!(pmix_geometry, osname) - 16usize];
    ["Offset of field: pmix_geometry::coordinates"][::std::mem::offset_of!(pmix_geometry, coordinates) - 24usize];
    ["Offset of field: pmix_geometry::ncoords"][::std::mem::offset_of!(pmix_geometry, ncoords) - 32usize];
};
pub type pmix_geometry_t = pmix_geometry;
pub type pmix_device_type_t = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_device_distance {
    pub uuid: *mut ::std::os::raw::c_char,
    pub osname: *mut ::std::os::raw::c_char,
    pub type_: pmix_device_type_t,
    pub mindist: u16,
    pub maxdist: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_device_distance"][::std::mem::size_of::<pmix_device_distance>() - 32usize];
    ["Alignment of pmix_device_distance"][::std::mem::align_of::<pmix_device_distance>() - 8usize];
    ["Offset of field: pmix_device_distance::uuid"][::std::mem::offset_of!(pmix_device_distance, uuid) - 0usize];
    ["Offset of field: pmix_device_distance::osname"][::std::mem::offset_of!(pmix_device_distance, osname) - 8usize];
    ["Offset of field: pmix_device_distance::type_"][::std::mem::offset_of!(pmix_device_distance, type_) - 16usize];
    ["Offset of field: pmix_device_distance::mindist"][::std::mem::offset_of!(pmix_device_distance, mindist) - 24usize];
    ["Offset of field: pmix_device_distance::maxdist"][::std::mem::offset_of!(pmix_device_distance, maxdist) - 26usize];
};
pub type pmix_device_distance_t = pmix_device_distance;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_byte_object {
    pub bytes: *mut ::std::os::raw::c_char,
    pub size: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_byte_object"][::std::mem::size_of::<pmix_byte_object>() - 16usize];
    ["Alignment of pmix_byte_object"][::std::mem::align_of::<pmix_byte_object>() - 8usize];
    ["Offset of field: pmix_byte_object::bytes"][::std::mem::offset_of!(pmix_byte_object, bytes) - 0usize];
    ["Offset of field: pmix_byte_object::size"][::std::mem::offset_of!(pmix_byte_object, size) - 8usize];
};
pub type pmix_byte_object_t = pmix_byte_object;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_endpoint {
    pub uuid: *mut ::std::os::raw::c_char,
    pub osname: *mut ::std::os::raw::c_char,
    pub endpt: pmix_byte_object_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_endpoint"][::std::mem::size_of::<pmix_endpoint>() - 32usize];
    ["Alignment of pmix_endpoint"][::std::mem::align_of::<pmix_endpoint>() - 8usize];
    ["Offset of field: pmix_endpoint::uuid"][::std::mem::offset_of!(pmix_endpoint, uuid) - 0usize];
    ["Offset of field: pmix_endpoint::osname"][::std::mem::offset_of!(pmix_endpoint, osname) - 8usize];
    ["Offset of field: pmix_endpoint::endpt"][::std::mem::offset_of!(pmix_endpoint, endpt) - 16usize];
};
pub type pmix_endpoint_t = pmix_endpoint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_envar_t {
    pub envar: *mut ::std::os::raw::c_char,
    pub value: *mut ::std::os::raw::c_char,
    pub separator: ::std::os::raw::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_envar_t"][::std::mem::size_of::<pmix_envar_t>() - 24usize];
    ["Alignment of pmix_envar_t"][::std::mem::align_of::<pmix_envar_t>() - 8usize];
    ["Offset of field: pmix_envar_t::envar"][::std::mem::offset_of!(pmix_envar_t, envar) - 0usize];
    ["Offset of field: pmix_envar_t::value"][::std::mem::offset_of!(pmix_envar_t, value) - 8usize];
    ["Offset of field: pmix_envar_t::separator"][::std::mem::offset_of!(pmix_envar_t, separator) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_proc {
    pub nspace: pmix_nspace_t,
    pub rank: pmix_rank_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_proc"][::std::mem::size_of::<pmix_proc>() - 260usize];
    ["Alignment of pmix_proc"][::std::mem::align_of::<pmix_proc>() - 4usize];
    ["Offset of field: pmix_proc::nspace"][::std::mem::offset_of!(pmix_proc, nspace) - 0usize];
    ["Offset of field: pmix_proc::rank"][::std::mem::offset_of!(pmix_proc, rank) - 256usize];
};
pub type pmix_proc_t = pmix_proc;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_proc_info {
    pub proc_: pmix_proc_t,
    pub hostname: *mut ::std::os::raw::c_char,
    pub executable_name: *mut ::std::os::raw::c_char,
    pub pid: pid_t,
    pub exit_code: ::std::os::raw::c_int,
    pub state: pmix_proc_state_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_proc_info"][::std::mem::size_of::<pmix_proc_info>() - 296usize];
    ["Alignment of pmix_proc_info"][::std::mem::align_of::<pmix_proc_info>() - 8usize];
    ["Offset of field: pmix_proc_info::proc_"][::std::mem::offset_of!(pmix_proc_info, proc_) - 0usize];
    ["Offset of field: pmix_proc_info::hostname"][::std::mem::offset_of!(pmix_proc_info, hostname) - 264usize];
    ["Offset of field: pmix_proc_info::executable_name"]
        [::std::mem::offset_of!(pmix_proc_info, executable_name) - 272usize];
    ["Offset of field: pmix_proc_info::pid"][::std::mem::offset_of!(pmix_proc_info, pid) - 280usize];
    ["Offset of field: pmix_proc_info::exit_code"][::std::mem::offset_of!(pmix_proc_info, exit_code) - 284usize];
    ["Offset of field: pmix_proc_info::state"][::std::mem::offset_of!(pmix_proc_info, state) - 288usize];
};
pub type pmix_proc_info_t = pmix_proc_info;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_data_array {
    pub type_: pmix_data_type_t,
    pub size: usize,
    pub array: *mut ::std::os::raw::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_data_array"][::std::mem::size_of::<pmix_data_array>() - 24usize];
    ["Alignment of pmix_data_array"][::std::mem::align_of::<pmix_data_array>() - 8usize];
    ["Offset of field: pmix_data_array::type_"][::std::mem::offset_of!(pmix_data_array, type_) - 0usize];
    ["Offset of field: pmix_data_array::size"][::std::mem::offset_of!(pmix_data_array, size) - 8usize];
    ["Offset of field: pmix_data_array::array"][::std::mem::offset_of!(pmix_data_array, array) - 16usize];
};
pub type pmix_data_array_t = pmix_data_array;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_data_buffer {
    pub base_ptr: *mut ::std::os::raw::c_char,
    pub pack_ptr: *mut ::std::os::raw::c_char,
    pub unpack_ptr: *mut ::std::os::raw::c_char,
    pub bytes_allocated: usize,
    pub bytes_used: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_data_buffer"][::std::mem::size_of::<pmix_data_buffer>() - 40usize];
    ["Alignment of pmix_data_buffer"][::std::mem::align_of::<pmix_data_buffer>() - 8usize];
    ["Offset of field: pmix_data_buffer::base_ptr"][::std::mem::offset_of!(pmix_data_buffer, base_ptr) - 0usize];
    ["Offset of field: pmix_data_buffer::pack_ptr"][::std::mem::offset_of!(pmix_data_buffer, pack_ptr) - 8usize];
    ["Offset of field: pmix_data_buffer::unpack_ptr"][::std::mem::offset_of!(pmix_data_buffer, unpack_ptr) - 16usize];
    ["Offset of field: pmix_data_buffer::bytes_allocated"]
        [::std::mem::offset_of!(pmix_data_buffer, bytes_allocated) - 24usize];
    ["Offset of field: pmix_data_buffer::bytes_used"][::std::mem::offset_of!(pmix_data_buffer, bytes_used) - 32usize];
};
pub type pmix_data_buffer_t = pmix_data_buffer;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_proc_stats {
    pub node: *mut ::std::os::raw::c_char,
    pub proc_: pmix_proc_t,
    pub pid: pid_t,
    pub cmd: *mut ::std::os::raw::c_char,
    pub state: ::std::os::raw::c_char,
    pub time: timeval,
    pub percent_cpu: f32,
    pub priority: i32,
    pub num_threads: u16,
    pub pss: f32,
    pub vsize: f32,
    pub rss: f32,
    pub peak_vsize: f32,
    pub processor: u16,
    pub sample_time: timeval,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_proc_stats"][::std::mem::size_of::<pmix_proc_stats>() - 352usize];
    ["Alignment of pmix_proc_stats"][::std::mem::align_of::<pmix_proc_stats>() - 8usize];
    ["Offset of field: pmix_proc_stats::node"][::std::mem::offset_of!(pmix_proc_stats, node) - 0usize];
    ["Offset of field: pmix_proc_stats::proc_"][::std::mem::offset_of!(pmix_proc_stats, proc_) - 8usize];
    ["Offset of field: pmix_proc_stats::pid"][::std::mem::offset_of!(pmix_proc_stats, pid) - 268usize];
    ["Offset of field: pmix_proc_stats::cmd"][::std::mem::offset_of!(pmix_proc_stats, cmd) - 272usize];
    ["Offset of field: pmix_proc_stats::state"][::std::mem::offset_of!(pmix_proc_stats, state) - 280usize];
    ["Offset of field: pmix_proc_stats::time"][::std::mem::offset_of!(pmix_proc_stats, time) - 288usize];
    ["Offset of field: pmix_proc_stats::percent_cpu"][::std::mem::offset_of!(pmix_proc_stats, percent_cpu) - 304usize];
    ["Offset of field: pmix_proc_stats::priority"][::std::mem::offset_of!(pmix_proc_stats, priority) - 308usize];
    ["Offset of field: pmix_proc_stats::num_threads"][::std::mem::offset_of!(pmix_proc_stats, num_threads) - 312usize];
    ["Offset of field: pmix_proc_stats::pss"][::std::mem::offset_of!(pmix_proc_stats, pss) - 316usize];
    ["Offset of field: pmix_proc_stats::vsize"][::std::mem::offset_of!(pmix_proc_stats, vsize) - 320usize];
    ["Offset of field: pmix_proc_stats::rss"][::std::mem::offset_of!(pmix_proc_stats, rss) - 324usize];
    ["Offset of field: pmix_proc_stats::peak_vsize"][::std::mem::offset_of!(pmix_proc_stats, peak_vsize) - 328usize];
    ["Offset of field: pmix_proc_stats::processor"][::std::mem::offset_of!(pmix_proc_stats, processor) - 332usize];
    ["Offset of field: pmix_proc_stats::sample_time"][::std::mem::offset_of!(pmix_proc_stats, sample_time) - 336usize];
};
pub type pmix_proc_stats_t = pmix_proc_stats;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_disk_stats_t {
    pub disk: *mut ::std::os::raw::c_char,
    pub num_reads_completed: u64,
    pub num_reads_merged: u64,
    pub num_sectors_read: u64,
    pub milliseconds_reading: u64,
    pub num_writes_completed: u64,
    pub num_writes_merged: u64,
    pub num_sectors_written: u64,
    pub milliseconds_writing: u64,
    pub num_ios_in_progress: u64,
    pub milliseconds_io: u64,
    pub weighted_milliseconds_io: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_disk_stats_t"][::std::mem::size_of::<pmix_disk_stats_t>() - 96usize];
    ["Alignment of pmix_disk_stats_t"][::std::mem::align_of::<pmix_disk_stats_t>() - 8usize];
    ["Offset of field: pmix_disk_stats_t::disk"][::std::mem::offset_of!(pmix_disk_stats_t, disk) - 0usize];
    ["Offset of field: pmix_disk_stats_t::num_reads_completed"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_reads_completed) - 8usize];
    ["Offset of field: pmix_disk_stats_t::num_reads_merged"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_reads_merged) - 16usize];
    ["Offset of field: pmix_disk_stats_t::num_sectors_read"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_sectors_read) - 24usize];
    ["Offset of field: pmix_disk_stats_t::milliseconds_reading"]
        [::std::mem::offset_of!(pmix_disk_stats_t, milliseconds_reading) - 32usize];
    ["Offset of field: pmix_disk_stats_t::num_writes_completed"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_writes_completed) - 40usize];
    ["Offset of field: pmix_disk_stats_t::num_writes_merged"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_writes_merged) - 48usize];
    ["Offset of field: pmix_disk_stats_t::num_sectors_written"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_sectors_written) - 56usize];
    ["Offset of field: pmix_disk_stats_t::milliseconds_writing"]
        [::std::mem::offset_of!(pmix_disk_stats_t, milliseconds_writing) - 64usize];
    ["Offset of field: pmix_disk_stats_t::num_ios_in_progress"]
        [::std::mem::offset_of!(pmix_disk_stats_t, num_ios_in_progress) - 72usize];
    ["Offset of field: pmix_disk_stats_t::milliseconds_io"]
        [::std::mem::offset_of!(pmix_disk_stats_t, milliseconds_io) - 80usize];
    ["Offset of field: pmix_disk_stats_t::weighted_milliseconds_io"]
        [::std::mem::offset_of!(pmix_disk_stats_t, weighted_milliseconds_io) - 88usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_net_stats_t {
    pub net_interface: *mut ::std::os::raw::c_char,
    pub num_bytes_recvd: u64,
    pub num_packets_recvd: u64,
    pub num_recv_errs: u64,
    pub num_bytes_sent: u64,
    pub num_packets_sent: u64,
    pub num_send_errs: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_net_stats_t"][::std::mem::size_of::<pmix_net_stats_t>() - 56usize];
    ["Alignment of pmix_net_stats_t"][::std::mem::align_of::<pmix_net_stats_t>() - 8usize];
    ["Offset of field: pmix_net_stats_t::net_interface"]
        [::std::mem::offset_of!(pmix_net_stats_t, net_interface) - 0usize];
    ["Offset of field: pmix_net_stats_t::num_bytes_recvd"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_bytes_recvd) - 8usize];
    ["Offset of field: pmix_net_stats_t::num_packets_recvd"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_packets_recvd) - 16usize];
    ["Offset of field: pmix_net_stats_t::num_recv_errs"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_recv_errs) - 24usize];
    ["Offset of field: pmix_net_stats_t::num_bytes_sent"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_bytes_sent) - 32usize];
    ["Offset of field: pmix_net_stats_t::num_packets_sent"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_packets_sent) - 40usize];
    ["Offset of field: pmix_net_stats_t::num_send_errs"]
        [::std::mem::offset_of!(pmix_net_stats_t, num_send_errs) - 48usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_node_stats_t {
    pub node: *mut ::std::os::raw::c_char,
    pub la: f32,
    pub la5: f32,
    pub la15: f32,
    pub total_mem: f32,
    pub free_mem: f32,
    pub buffers: f32,
    pub cached: f32,
    pub swap_cached: f32,
    pub swap_total: f32,
    pub swap_free: f32,
    pub mapped: f32,
    pub sample_time: timeval,
    pub diskstats: *mut pmix_disk_stats_t,
    pub ndiskstats: usize,
    pub netstats: *mut pmix_net_stats_t,
    pub nnetstats: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_node_stats_t"][::std::mem::size_of::<pmix_node_stats_t>() - 104usize];
    ["Alignment of pmix_node_stats_t"][::std::mem::align_of::<pmix_node_stats_t>() - 8usize];
    ["Offset of field: pmix_node_stats_t::node"][::std::mem::offset_of!(pmix_node_stats_t, node) - 0usize];
    ["Offset of field: pmix_node_stats_t::la"][::std::mem::offset_of!(pmix_node_stats_t, la) - 8usize];
    ["Offset of field: pmix_node_stats_t::la5"][::std::mem::offset_of!(pmix_node_stats_t, la5) - 12usize];
    ["Offset of field: pmix_node_stats_t::la15"][::std::mem::offset_of!(pmix_node_stats_t, la15) - 16usize];
    ["Offset of field: pmix_node_stats_t::total_mem"][::std::mem::offset_of!(pmix_node_stats_t, total_mem) - 20usize];
    ["Offset of field: pmix_node_stats_t::free_mem"][::std::mem::offset_of!(pmix_node_stats_t, free_mem) - 24usize];
    ["Offset of field: pmix_node_stats_t::buffers"][::std::mem::offset_of!(pmix_node_stats_t, buffers) - 28usize];
    ["Offset of field: pmix_node_stats_t::cached"][::std::mem::offset_of!(pmix_node_stats_t, cached) - 32usize];
    ["Offset of field: pmix_node_stats_t::swap_cached"]
        [::std::mem::offset_of!(pmix_node_stats_t, swap_cached) - 36usize];
    ["Offset of field: pmix_node_stats_t::swap_total"][::std::mem::offset_of!(pmix_node_stats_t, swap_total) - 40usize];
    ["Offset of field: pmix_node_stats_t::swap_free"][::std::mem::offset_of!(pmix_node_stats_t, swap_free) - 44usize];
    ["Offset of field: pmix_node_stats_t::mapped"][::std::mem::offset_of!(pmix_node_stats_t, mapped) - 48usize];
    ["Offset of field: pmix_node_stats_t::sample_time"]
        [::std::mem::offset_of!(pmix_node_stats_t, sample_time) - 56usize];
    ["Offset of field: pmix_node_stats_t::diskstats"][::std::mem::offset_of!(pmix_node_stats_t, diskstats) - 72usize];
    ["Offset of field: pmix_node_stats_t::ndiskstats"][::std::mem::offset_of!(pmix_node_stats_t, ndiskstats) - 80usize];
    ["Offset of field: pmix_node_stats_t::netstats"][::std::mem::offset_of!(pmix_node_stats_t, netstats) - 88usize];
    ["Offset of field: pmix_node_stats_t::nnetstats"][::std::mem::offset_of!(pmix_node_stats_t, nnetstats) - 96usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct pmix_value {
    pub type_: pmix_data_type_t,
    pub data: pmix_value__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union pmix_value__bindgen_ty_1 {
    pub flag: bool,
    pub byte: u8,
    pub string: *mut ::std::os::raw::c_char,
    pub size: usize,
    pub pid: pid_t,
    pub integer: ::std::os::raw::c_int,
    pub int8: i8,
    pub int16: i16,
    pub int32: i32,
    pub int64: i64,
    pub uint: ::std::os::raw::c_uint,
    pub uint8: u8,
    pub uint16: u16,
    pub uint32: u32,
    pub uint64: u64,
    pub fval: f32,
    pub dval: f64,
    pub tv: timeval,
    pub time: time_t,
    pub status: pmix_status_t,
    pub rank: pmix_rank_t,
    pub nspace: *mut pmix_nspace_t,
    pub proc_: *mut pmix_proc_t,
    pub bo: pmix_byte_object_t,
    pub persist: pmix_persistence_t,
    pub scope: pmix_scope_t,
    pub range: pmix_data_range_t,
    pub state: pmix_proc_state_t,
    pub pinfo: *mut pmix_proc_info_t,
    pub darray: *mut pmix_data_array_t,
    pub ptr: *mut ::std::os::raw::c_void,
    pub adir: pmix_alloc_directive_t,
    pub envar: pmix_envar_t,
    pub coord: *mut pmix_coord_t,
    pub linkstate: pmix_link_state_t,
    pub jstate: pmix_job_state_t,
    pub topo: *mut pmix_topology_t,
    pub cpuset: *mut pmix_cpuset_t,
    pub locality: pmix_locality_t,
    pub geometry: *mut pmix_geometry_t,
    pub devtype: pmix_device_type_t,
    pub devdist: *mut pmix_device_distance_t,
    pub endpoint: *mut pmix_endpoint_t,
    pub dbuf: *mut pmix_data_buffer_t,
    pub pstats: *mut pmix_proc_stats_t,
    pub dkstats: *mut pmix_disk_stats_t,
    pub netstats: *mut pmix_net_stats_t,
    pub ndstats: *mut pmix_node_stats_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_value__bindgen_ty_1"][::std::mem::size_of::<pmix_value__bindgen_ty_1>() - 24usize];
    ["Alignment of pmix_value__bindgen_ty_1"][::std::mem::align_of::<pmix_value__bindgen_ty_1>() - 8usize];
    ["Offset of field: pmix_value__bindgen_ty_1::flag"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, flag) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::byte"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, byte) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::string"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, string) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::size"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, size) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::pid"][::std::mem::offset_of!(pmix_value__bindgen_ty_1, pid) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::integer"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, integer) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::int8"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, int8) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::int16"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, int16) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::int32"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, int32) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::int64"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, int64) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::uint"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, uint) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::uint8"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, uint8) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::uint16"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, uint16) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::uint32"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, uint32) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::uint64"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, uint64) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::fval"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, fval) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::dval"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, dval) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::tv"][::std::mem::offset_of!(pmix_value__bindgen_ty_1, tv) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::time"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, time) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::status"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, status) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::rank"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, rank) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::nspace"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, nspace) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::proc_"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, proc_) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::bo"][::std::mem::offset_of!(pmix_value__bindgen_ty_1, bo) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::persist"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, persist) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::scope"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, scope) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::range"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, range) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::state"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, state) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::pinfo"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, pinfo) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::darray"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, darray) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::ptr"][::std::mem::offset_of!(pmix_value__bindgen_ty_1, ptr) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::adir"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, adir) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::envar"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, envar) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::coord"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, coord) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::linkstate"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, linkstate) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::jstate"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, jstate) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::topo"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, topo) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::cpuset"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, cpuset) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::locality"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, locality) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::geometry"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, geometry) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::devtype"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, devtype) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::devdist"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, devdist) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::endpoint"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, endpoint) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::dbuf"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, dbuf) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::pstats"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, pstats) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::dkstats"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, dkstats) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::netstats"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, netstats) - 0usize];
    ["Offset of field: pmix_value__bindgen_ty_1::ndstats"]
        [::std::mem::offset_of!(pmix_value__bindgen_ty_1, ndstats) - 0usize];
};
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_value"][::std::mem::size_of::<pmix_value>() - 32usize];
    ["Alignment of pmix_value"][::std::mem::align_of::<pmix_value>() - 8usize];
    ["Offset of field: pmix_value::type_"][::std::mem::offset_of!(pmix_value, type_) - 0usize];
    ["Offset of field: pmix_value::data"][::std::mem::offset_of!(pmix_value, data) - 8usize];
};
pub type pmix_value_t = pmix_value;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct pmix_info {
    pub key: pmix_key_t,
    pub flags: pmix_info_directives_t,
    pub value: pmix_value_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_info"][::std::mem::size_of::<pmix_info>() - 552usize];
    ["Alignment of pmix_info"][::std::mem::align_of::<pmix_info>() - 8usize];
    ["Offset of field: pmix_info::key"][::std::mem::offset_of!(pmix_info, key) - 0usize];
    ["Offset of field: pmix_info::flags"][::std::mem::offset_of!(pmix_info, flags) - 512usize];
    ["Offset of field: pmix_info::value"][::std::mem::offset_of!(pmix_info, value) - 520usize];
};
pub type pmix_info_t = pmix_info;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct pmix_pdata {
    pub proc_: pmix_proc_t,
    pub key: pmix_key_t,
    pub value: pmix_value_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_pdata"][::std::mem::size_of::<pmix_pdata>() - 808usize];
    ["Alignment of pmix_pdata"][::std::mem::align_of::<pmix_pdata>() - 8usize];
    ["Offset of field: pmix_pdata::proc_"][::std::mem::offset_of!(pmix_pdata, proc_) - 0usize];
    ["Offset of field: pmix_pdata::key"][::std::mem::offset_of!(pmix_pdata, key) - 260usize];
    ["Offset of field: pmix_pdata::value"][::std::mem::offset_of!(pmix_pdata, value) - 776usize];
};
pub type pmix_pdata_t = pmix_pdata;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_app {
    pub cmd: *mut ::std::os::raw::c_char,
    pub argv: *mut *mut ::std::os::raw::c_char,
    pub env: *mut *mut ::std::os::raw::c_char,
    pub cwd: *mut ::std::os::raw::c_char,
    pub maxprocs: ::std::os::raw::c_int,
    pub info: *mut pmix_info_t,
    pub ninfo: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_app"][::std::mem::size_of::<pmix_app>() - 56usize];
    ["Alignment of pmix_app"][::std::mem::align_of::<pmix_app>() - 8usize];
    ["Offset of field: pmix_app::cmd"][::std::mem::offset_of!(pmix_app, cmd) - 0usize];
    ["Offset of field: pmix_app::argv"][::std::mem::offset_of!(pmix_app, argv) - 8usize];
    ["Offset of field: pmix_app::env"][::std::mem::offset_of!(pmix_app, env) - 16usize];
    ["Offset of field: pmix_app::cwd"][::std::mem::offset_of!(pmix_app, cwd) - 24usize];
    ["Offset of field: pmix_app::maxprocs"][::std::mem::offset_of!(pmix_app, maxprocs) - 32usize];
    ["Offset of field: pmix_app::info"][::std::mem::offset_of!(pmix_app, info) - 40usize];
    ["Offset of field: pmix_app::ninfo"][::std::mem::offset_of!(pmix_app, ninfo) - 48usize];
};
pub type pmix_app_t = pmix_app;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_query {
    pub keys: *mut *mut ::std::os::raw::c_char,
    pub qualifiers: *mut pmix_info_t,
    pub nqual: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_query"][::std::mem::size_of::<pmix_query>() - 24usize];
    ["Alignment of pmix_query"][::std::mem::align_of::<pmix_query>() - 8usize];
    ["Offset of field: pmix_query::keys"][::std::mem::offset_of!(pmix_query, keys) - 0usize];
    ["Offset of field: pmix_query::qualifiers"][::std::mem::offset_of!(pmix_query, qualifiers) - 8usize];
    ["Offset of field: pmix_query::nqual"][::std::mem::offset_of!(pmix_query, nqual) - 16usize];
};
pub type pmix_query_t = pmix_query;
pub const pmix_fabric_operation_t_PMIX_FABRIC_REQUEST_INFO: pmix_fabric_operation_t = 0;
pub const pmix_fabric_operation_t_PMIX_FABRIC_UPDATE_INFO: pmix_fabric_operation_t = 1;
pub type pmix_fabric_operation_t = ::std::os::raw::c_uint;
pub type pmix_release_cbfunc_t = ::std::option::Option<unsafe extern "C" fn(cbdata: *mut ::std::os::raw::c_void)>;
pub type pmix_modex_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        data: *const ::std::os::raw::c_char,
        ndata: usize,
        cbdata: *mut ::std::os::raw::c_void,
        release_fn: pmix_release_cbfunc_t,
        release_cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_spawn_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        nspace: *mut ::std::os::raw::c_char,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_op_cbfunc_t =
    ::std::option::Option<unsafe extern "C" fn(status: pmix_status_t, cbdata: *mut ::std::os::raw::c_void)>;
pub type pmix_lookup_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        data: *mut pmix_pdata_t,
        ndata: usize,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_event_notification_cbfunc_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        results: *mut pmix_info_t,
        nresults: usize,
        cbfunc: pmix_op_cbfunc_t,
        thiscbdata: *mut ::std::os::raw::c_void,
        notification_cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_notification_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        evhdlr_registration_id: usize,
        status: pmix_status_t,
        source: *const pmix_proc_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        results: *mut pmix_info_t,
        nresults: usize,
        cbfunc: pmix_event_notification_cbfunc_fn_t,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_hdlr_reg_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(status: pmix_status_t, refid: usize, cbdata: *mut ::std::os::raw::c_void),
>;
pub type pmix_info_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbdata: *mut ::std::os::raw::c_void,
        release_fn: pmix_release_cbfunc_t,
        release_cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_credential_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        credential: *mut pmix_byte_object_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_validation_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_server_client_connected_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        server_object: *mut ::std::os::raw::c_void,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_client_connected2_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        server_object: *mut ::std::os::raw::c_void,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_client_finalized_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        server_object: *mut ::std::os::raw::c_void,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_abort_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        server_object: *mut ::std::os::raw::c_void,
        status: ::std::os::raw::c_int,
        msg: *const ::std::os::raw::c_char,
        procs: *mut pmix_proc_t,
        nprocs: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_fencenb_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        procs: *const pmix_proc_t,
        nprocs: usize,
        info: *const pmix_info_t,
        ninfo: usize,
        data: *mut ::std::os::raw::c_char,
        ndata: usize,
        cbfunc: pmix_modex_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_dmodex_req_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_modex_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_publish_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_lookup_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        keys: *mut *mut ::std::os::raw::c_char,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_lookup_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_unpublish_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        keys: *mut *mut ::std::os::raw::c_char,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_spawn_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        job_info: *const pmix_info_t,
        ninfo: usize,
        apps: *const pmix_app_t,
        napps: usize,
        cbfunc: pmix_spawn_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_connect_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        procs: *const pmix_proc_t,
        nprocs: usize,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_disconnect_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        procs: *const pmix_proc_t,
        nprocs: usize,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_register_events_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        codes: *mut pmix_status_t,
        ncodes: usize,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_deregister_events_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        codes: *mut pmix_status_t,
        ncodes: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_notify_event_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        code: pmix_status_t,
        source: *const pmix_proc_t,
        range: pmix_data_range_t,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_connection_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(incoming_sd: ::std::os::raw::c_int, cbdata: *mut ::std::os::raw::c_void),
>;
pub type pmix_server_listener_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        listening_sd: ::std::os::raw::c_int,
        cbfunc: pmix_connection_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_query_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proct: *mut pmix_proc_t,
        queries: *mut pmix_query_t,
        nqueries: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_tool_connection_cbfunc_t = ::std::option::Option<
    unsafe extern "C" fn(status: pmix_status_t, proc_: *mut pmix_proc_t, cbdata: *mut ::std::os::raw::c_void),
>;
pub type pmix_server_tool_connection_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        info: *mut pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_tool_connection_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_server_log_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        client: *const pmix_proc_t,
        data: *const pmix_info_t,
        ndata: usize,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub type pmix_server_alloc_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        client: *const pmix_proc_t,
        directive: pmix_alloc_directive_t,
        data: *const pmix_info_t,
        ndata: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_job_control_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        requestor: *const pmix_proc_t,
        targets: *const pmix_proc_t,
        ntargets: usize,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_monitor_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        requestor: *const pmix_proc_t,
        monitor: *const pmix_info_t,
        error: pmix_status_t,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_get_cred_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_credential_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_validate_cred_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        cred: *const pmix_byte_object_t,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_validation_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_iof_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        procs: *const pmix_proc_t,
        nprocs: usize,
        directives: *const pmix_info_t,
        ndirs: usize,
        channels: pmix_iof_channel_t,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_stdin_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        source: *const pmix_proc_t,
        targets: *const pmix_proc_t,
        ntargets: usize,
        directives: *const pmix_info_t,
        ndirs: usize,
        bo: *const pmix_byte_object_t,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_grp_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        op: pmix_group_operation_t,
        grp: *mut ::std::os::raw::c_char,
        procs: *const pmix_proc_t,
        nprocs: usize,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
pub type pmix_server_fabric_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        requestor: *const pmix_proc_t,
        op: pmix_fabric_operation_t,
        directives: *const pmix_info_t,
        ndirs: usize,
        cbfunc: pmix_info_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct pmix_server_module_4_0_0_t {
    pub client_connected: pmix_server_client_connected_fn_t,
    pub client_finalized: pmix_server_client_finalized_fn_t,
    pub abort: pmix_server_abort_fn_t,
    pub fence_nb: pmix_server_fencenb_fn_t,
    pub direct_modex: pmix_server_dmodex_req_fn_t,
    pub publish: pmix_server_publish_fn_t,
    pub lookup: pmix_server_lookup_fn_t,
    pub unpublish: pmix_server_unpublish_fn_t,
    pub spawn: pmix_server_spawn_fn_t,
    pub connect: pmix_server_connect_fn_t,
    pub disconnect: pmix_server_disconnect_fn_t,
    pub register_events: pmix_server_register_events_fn_t,
    pub deregister_events: pmix_server_deregister_events_fn_t,
    pub listener: pmix_server_listener_fn_t,
    pub notify_event: pmix_server_notify_event_fn_t,
    pub query: pmix_server_query_fn_t,
    pub tool_connected: pmix_server_tool_connection_fn_t,
    pub log: pmix_server_log_fn_t,
    pub allocate: pmix_server_alloc_fn_t,
    pub job_control: pmix_server_job_control_fn_t,
    pub monitor: pmix_server_monitor_fn_t,
    pub get_credential: pmix_server_get_cred_fn_t,
    pub validate_credential: pmix_server_validate_cred_fn_t,
    pub iof_pull: pmix_server_iof_fn_t,
    pub push_stdin: pmix_server_stdin_fn_t,
    pub group: pmix_server_grp_fn_t,
    pub fabric: pmix_server_fabric_fn_t,
    pub client_connected2: pmix_server_client_connected2_fn_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of pmix_server_module_4_0_0_t"][::std::mem::size_of::<pmix_server_module_4_0_0_t>() - 224usize];
    ["Alignment of pmix_server_module_4_0_0_t"][::std::mem::align_of::<pmix_server_module_4_0_0_t>() - 8usize];
    ["Offset of field: pmix_server_module_4_0_0_t::client_connected"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, client_connected) - 0usize];
    ["Offset of field: pmix_server_module_4_0_0_t::client_finalized"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, client_finalized) - 8usize];
    ["Offset of field: pmix_server_module_4_0_0_t::abort"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, abort) - 16usize];
    ["Offset of field: pmix_server_module_4_0_0_t::fence_nb"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, fence_nb) - 24usize];
    ["Offset of field: pmix_server_module_4_0_0_t::direct_modex"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, direct_modex) - 32usize];
    ["Offset of field: pmix_server_module_4_0_0_t::publish"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, publish) - 40usize];
    ["Offset of field: pmix_server_module_4_0_0_t::lookup"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, lookup) - 48usize];
    ["Offset of field: pmix_server_module_4_0_0_t::unpublish"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, unpublish) - 56usize];
    ["Offset of field: pmix_server_module_4_0_0_t::spawn"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, spawn) - 64usize];
    ["Offset of field: pmix_server_module_4_0_0_t::connect"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, connect) - 72usize];
    ["Offset of field: pmix_server_module_4_0_0_t::disconnect"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, disconnect) - 80usize];
    ["Offset of field: pmix_server_module_4_0_0_t::register_events"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, register_events) - 88usize];
    ["Offset of field: pmix_server_module_4_0_0_t::deregister_events"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, deregister_events) - 96usize];
    ["Offset of field: pmix_server_module_4_0_0_t::listener"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, listener) - 104usize];
    ["Offset of field: pmix_server_module_4_0_0_t::notify_event"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, notify_event) - 112usize];
    ["Offset of field: pmix_server_module_4_0_0_t::query"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, query) - 120usize];
    ["Offset of field: pmix_server_module_4_0_0_t::tool_connected"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, tool_connected) - 128usize];
    ["Offset of field: pmix_server_module_4_0_0_t::log"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, log) - 136usize];
    ["Offset of field: pmix_server_module_4_0_0_t::allocate"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, allocate) - 144usize];
    ["Offset of field: pmix_server_module_4_0_0_t::job_control"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, job_control) - 152usize];
    ["Offset of field: pmix_server_module_4_0_0_t::monitor"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, monitor) - 160usize];
    ["Offset of field: pmix_server_module_4_0_0_t::get_credential"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, get_credential) - 168usize];
    ["Offset of field: pmix_server_module_4_0_0_t::validate_credential"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, validate_credential) - 176usize];
    ["Offset of field: pmix_server_module_4_0_0_t::iof_pull"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, iof_pull) - 184usize];
    ["Offset of field: pmix_server_module_4_0_0_t::push_stdin"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, push_stdin) - 192usize];
    ["Offset of field: pmix_server_module_4_0_0_t::group"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, group) - 200usize];
    ["Offset of field: pmix_server_module_4_0_0_t::fabric"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, fabric) - 208usize];
    ["Offset of field: pmix_server_module_4_0_0_t::client_connected2"]
        [::std::mem::offset_of!(pmix_server_module_4_0_0_t, client_connected2) - 216usize];
};
pub type pmix_server_module_t = pmix_server_module_4_0_0_t;
pub type pmix_dmodex_response_fn_t = ::std::option::Option<
    unsafe extern "C" fn(
        status: pmix_status_t,
        data: *mut ::std::os::raw::c_char,
        sz: usize,
        cbdata: *mut ::std::os::raw::c_void,
    ),
>;
pub struct Functions {
    __library: ::libloading::Library,
    pub PMIx_Value_load: unsafe extern "C" fn(
        val: *mut pmix_value_t,
        data: *const ::std::os::raw::c_void,
        type_: pmix_data_type_t,
    ) -> pmix_status_t,
    pub PMIx_Value_destruct: unsafe extern "C" fn(val: *mut pmix_value_t),
    pub PMIx_Register_event_handler: unsafe extern "C" fn(
        codes: *mut pmix_status_t,
        ncodes: usize,
        info: *mut pmix_info_t,
        ninfo: usize,
        evhdlr: pmix_notification_fn_t,
        cbfunc: pmix_hdlr_reg_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_Notify_event: unsafe extern "C" fn(
        status: pmix_status_t,
        source: *const pmix_proc_t,
        range: pmix_data_range_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_Error_string: unsafe extern "C" fn(status: pmix_status_t) -> *const ::std::os::raw::c_char,
    pub PMIx_Get_version: unsafe extern "C" fn() -> *const ::std::os::raw::c_char,
    pub PMIx_Get: unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        key: *const ::std::os::raw::c_char,
        info: *const pmix_info_t,
        ninfo: usize,
        val: *mut *mut pmix_value_t,
    ) -> pmix_status_t,
    pub PMIx_server_init:
        unsafe extern "C" fn(module: *mut pmix_server_module_t, info: *mut pmix_info_t, ninfo: usize) -> pmix_status_t,
    pub PMIx_server_finalize: unsafe extern "C" fn() -> pmix_status_t,
    pub PMIx_generate_regex: unsafe extern "C" fn(
        input: *const ::std::os::raw::c_char,
        regex: *mut *mut ::std::os::raw::c_char,
    ) -> pmix_status_t,
    pub PMIx_generate_ppn: unsafe extern "C" fn(
        input: *const ::std::os::raw::c_char,
        ppn: *mut *mut ::std::os::raw::c_char,
    ) -> pmix_status_t,
    pub PMIx_server_register_nspace: unsafe extern "C" fn(
        nspace: *const ::std::os::raw::c_char,
        nlocalprocs: ::std::os::raw::c_int,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_server_deregister_nspace: unsafe extern "C" fn(
        nspace: *const ::std::os::raw::c_char,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ),
    pub PMIx_server_register_client: unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        uid: uid_t,
        gid: gid_t,
        server_object: *mut ::std::os::raw::c_void,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_server_deregister_client:
        unsafe extern "C" fn(proc_: *const pmix_proc_t, cbfunc: pmix_op_cbfunc_t, cbdata: *mut ::std::os::raw::c_void),
    pub PMIx_server_setup_fork:
        unsafe extern "C" fn(proc_: *const pmix_proc_t, env: *mut *mut *mut ::std::os::raw::c_char) -> pmix_status_t,
    pub PMIx_server_dmodex_request: unsafe extern "C" fn(
        proc_: *const pmix_proc_t,
        cbfunc: pmix_dmodex_response_fn_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_server_IOF_deliver: unsafe extern "C" fn(
        source: *const pmix_proc_t,
        channel: pmix_iof_channel_t,
        bo: *const pmix_byte_object_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t,
    pub PMIx_server_define_process_set: unsafe extern "C" fn(
        members: *const pmix_proc_t,
        nmembers: usize,
        pset_name: *const ::std::os::raw::c_char,
    ) -> pmix_status_t,
    pub PMIx_server_delete_process_set: unsafe extern "C" fn(pset_name: *mut ::std::os::raw::c_char) -> pmix_status_t,
}
impl Functions {
    pub unsafe fn new<P>(path: P) -> Result<Self, ::libloading::Error>
    where
        P: AsRef<::std::ffi::OsStr>,
    {
        let path = path.as_ref();
        let library = ::libloading::Library::new(path)?;
        Self::from_library(library)
    }
    pub unsafe fn from_library<L>(library: L) -> Result<Self, ::libloading::Error>
    where
        L: Into<::libloading::Library>,
    {
        let __library = library.into();
        let PMIx_Value_load = __library.get(b"PMIx_Value_load\0").map(|sym| *sym)?;
        let PMIx_Value_destruct = __library.get(b"PMIx_Value_destruct\0").map(|sym| *sym)?;
        let PMIx_Register_event_handler = __library.get(b"PMIx_Register_event_handler\0").map(|sym| *sym)?;
        let PMIx_Notify_event = __library.get(b"PMIx_Notify_event\0").map(|sym| *sym)?;
        let PMIx_Error_string = __library.get(b"PMIx_Error_string\0").map(|sym| *sym)?;
        let PMIx_Get_version = __library.get(b"PMIx_Get_version\0").map(|sym| *sym)?;
        let PMIx_Get = __library.get(b"PMIx_Get\0").map(|sym| *sym)?;
        let PMIx_server_init = __library.get(b"PMIx_server_init\0").map(|sym| *sym)?;
        let PMIx_server_finalize = __library.get(b"PMIx_server_finalize\0").map(|sym| *sym)?;
        let PMIx_generate_regex = __library.get(b"PMIx_generate_regex\0").map(|sym| *sym)?;
        let PMIx_generate_ppn = __library.get(b"PMIx_generate_ppn\0").map(|sym| *sym)?;
        let PMIx_server_register_nspace = __library.get(b"PMIx_server_register_nspace\0").map(|sym| *sym)?;
        let PMIx_server_deregister_nspace = __library.get(b"PMIx_server_deregister_nspace\0").map(|sym| *sym)?;
        let PMIx_server_register_client = __library.get(b"PMIx_server_register_client\0").map(|sym| *sym)?;
        let PMIx_server_deregister_client = __library.get(b"PMIx_server_deregister_client\0").map(|sym| *sym)?;
        let PMIx_server_setup_fork = __library.get(b"PMIx_server_setup_fork\0").map(|sym| *sym)?;
        let PMIx_server_dmodex_request = __library.get(b"PMIx_server_dmodex_request\0").map(|sym| *sym)?;
        let PMIx_server_IOF_deliver = __library.get(b"PMIx_server_IOF_deliver\0").map(|sym| *sym)?;
        let PMIx_server_define_process_set = __library.get(b"PMIx_server_define_process_set\0").map(|sym| *sym)?;
        let PMIx_server_delete_process_set = __library.get(b"PMIx_server_delete_process_set\0").map(|sym| *sym)?;
        Ok(Functions {
            __library,
            PMIx_Value_load,
            PMIx_Value_destruct,
            PMIx_Register_event_handler,
            PMIx_Notify_event,
            PMIx_Error_string,
            PMIx_Get_version,
            PMIx_Get,
            PMIx_server_init,
            PMIx_server_finalize,
            PMIx_generate_regex,
            PMIx_generate_ppn,
            PMIx_server_register_nspace,
            PMIx_server_deregister_nspace,
            PMIx_server_register_client,
            PMIx_server_deregister_client,
            PMIx_server_setup_fork,
            PMIx_server_dmodex_request,
            PMIx_server_IOF_deliver,
            PMIx_server_define_process_set,
            PMIx_server_delete_process_set,
        })
    }
    pub unsafe fn PMIx_Value_load(
        &self,
        val: *mut pmix_value_t,
        data: *const ::std::os::raw::c_void,
        type_: pmix_data_type_t,
    ) -> pmix_status_t {
        (self.PMIx_Value_load)(val, data, type_)
    }
    pub unsafe fn PMIx_Value_destruct(&self, val: *mut pmix_value_t) {
        (self.PMIx_Value_destruct)(val)
    }
    pub unsafe fn PMIx_Register_event_handler(
        &self,
        codes: *mut pmix_status_t,
        ncodes: usize,
        info: *mut pmix_info_t,
        ninfo: usize,
        evhdlr: pmix_notification_fn_t,
        cbfunc: pmix_hdlr_reg_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_Register_event_handler)(codes, ncodes, info, ninfo, evhdlr, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_Notify_event(
        &self,
        status: pmix_status_t,
        source: *const pmix_proc_t,
        range: pmix_data_range_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_Notify_event)(status, source, range, info, ninfo, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_Error_string(&self, status: pmix_status_t) -> *const ::std::os::raw::c_char {
        (self.PMIx_Error_string)(status)
    }
    pub unsafe fn PMIx_Get_version(&self) -> *const ::std::os::raw::c_char {
        (self.PMIx_Get_version)()
    }
    pub unsafe fn PMIx_Get(
        &self,
        proc_: *const pmix_proc_t,
        key: *const ::std::os::raw::c_char,
        info: *const pmix_info_t,
        ninfo: usize,
        val: *mut *mut pmix_value_t,
    ) -> pmix_status_t {
        (self.PMIx_Get)(proc_, key, info, ninfo, val)
    }
    pub unsafe fn PMIx_server_init(
        &self,
        module: *mut pmix_server_module_t,
        info: *mut pmix_info_t,
        ninfo: usize,
    ) -> pmix_status_t {
        (self.PMIx_server_init)(module, info, ninfo)
    }
    pub unsafe fn PMIx_server_finalize(&self) -> pmix_status_t {
        (self.PMIx_server_finalize)()
    }
    pub unsafe fn PMIx_generate_regex(
        &self,
        input: *const ::std::os::raw::c_char,
        regex: *mut *mut ::std::os::raw::c_char,
    ) -> pmix_status_t {
        (self.PMIx_generate_regex)(input, regex)
    }
    pub unsafe fn PMIx_generate_ppn(
        &self,
        input: *const ::std::os::raw::c_char,
        ppn: *mut *mut ::std::os::raw::c_char,
    ) -> pmix_status_t {
        (self.PMIx_generate_ppn)(input, ppn)
    }
    pub unsafe fn PMIx_server_register_nspace(
        &self,
        nspace: *const ::std::os::raw::c_char,
        nlocalprocs: ::std::os::raw::c_int,
        info: *mut pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_server_register_nspace)(nspace, nlocalprocs, info, ninfo, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_deregister_nspace(
        &self,
        nspace: *const ::std::os::raw::c_char,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) {
        (self.PMIx_server_deregister_nspace)(nspace, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_register_client(
        &self,
        proc_: *const pmix_proc_t,
        uid: uid_t,
        gid: gid_t,
        server_object: *mut ::std::os::raw::c_void,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_server_register_client)(proc_, uid, gid, server_object, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_deregister_client(
        &self,
        proc_: *const pmix_proc_t,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) {
        (self.PMIx_server_deregister_client)(proc_, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_setup_fork(
        &self,
        proc_: *const pmix_proc_t,
        env: *mut *mut *mut ::std::os::raw::c_char,
    ) -> pmix_status_t {
        (self.PMIx_server_setup_fork)(proc_, env)
    }
    pub unsafe fn PMIx_server_dmodex_request(
        &self,
        proc_: *const pmix_proc_t,
        cbfunc: pmix_dmodex_response_fn_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_server_dmodex_request)(proc_, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_IOF_deliver(
        &self,
        source: *const pmix_proc_t,
        channel: pmix_iof_channel_t,
        bo: *const pmix_byte_object_t,
        info: *const pmix_info_t,
        ninfo: usize,
        cbfunc: pmix_op_cbfunc_t,
        cbdata: *mut ::std::os::raw::c_void,
    ) -> pmix_status_t {
        (self.PMIx_server_IOF_deliver)(source, channel, bo, info, ninfo, cbfunc, cbdata)
    }
    pub unsafe fn PMIx_server_define_process_set(
        &self,
        members: *const pmix_proc_t,
        nmembers: usize,
        pset_name: *const ::std::os::raw::c_char,
    ) -> pmix_status_t {
        (self.PMIx_server_define_process_set)(members, nmembers, pset_name)
    }
    pub unsafe fn PMIx_server_delete_process_set(&self, pset_name: *mut ::std::os::raw::c_char) -> pmix_status_t {
        (self.PMIx_server_delete_process_set)(pset_name)
    }
}
