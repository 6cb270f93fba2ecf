//! Messages between daemons, and between clients and the DVM: one file per conversation, and the frame codec. Pure:
//! bytes in, values out.
//!
//! A payload is encoded once by its author and decoded once by each addressee; relays look at the
//! frame's header only and pass the payload on unchanged.

mod bringup;
mod collective;
pub mod control;
pub mod dvm_contact;
mod event;
mod frame;
mod group;
mod handshake;
mod iof;
mod launch;
mod log;
mod message;
mod preload;
mod process_set;
mod published;
mod query;
mod relayed;
pub mod remote;
mod resize;
mod spread;

pub use bringup::{Contact, DaemonReport, LaunchFailure, NodeLaunch, Ticket, TicketError, Wireup};
pub use collective::{CollectiveKey, CollectiveKind, CollectiveResult, Members, Part};
pub use dvm_contact::{ContactError, DvmContact};
pub use event::{EventInfo, EventRange, EventSource, GrowthOffer, PmixEvent, ToolName, Withdrawal};
pub use frame::{CodecError, Dest, Frame, FrameKind, MAX_FRAME, Numbers, Order};
pub use group::{GroupBuilt, GroupEntry, GroupPart, GroupRole};
pub use handshake::{Hello, PREAMBLE_LEN, PreambleError, check_preamble, preamble};
pub use iof::{StdinDest, Stream};
pub use launch::{InitState, LaunchOrder, ProcEnd, ProcFailure, Restart, StartError, StartErrorKind};
pub use log::{LogEntry, LogRecord, Mail};
pub use message::{DaemonMessage, HeadMessage, Message, TreeMessage};
pub use preload::FilePiece;
pub use process_set::{MAX_SET_NAME, ProcessSet, bad_set_name};
pub use published::{Access, DataCall, DataRange, DataRequest, Found, Persistence};
pub use query::{ControlOrder, Fact, Subject, WithdrawalAnswer};
pub use relayed::{ClientWord, Served};
pub use resize::{
    Activation, AddedHost, CancelRequest, ExtendRequest, GrowRequest, Inheritance, JobResize, JobResizeOutcome,
    JobResized, Resize, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest, SizeChange, SlotChange, TimeWarning,
};
pub use spread::{SpreadId, SpreadMessage};
