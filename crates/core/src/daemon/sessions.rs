//! Orders of local processes and tools for sessions (`PMIx_Session_control`), which the daemon passes on to the head.

use ferrite_types::PmixStatus;
use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_wire::HeadMessage;
use ferrite_wire::control::SessionOrder;

use super::Daemon;
use crate::cx::Cx;
use crate::{Effect, PmixEffect, PmixToken};

/// Orders without an answer yet.
#[derive(Debug, Default)]
pub(super) struct SessionOrders {
    next: u64,
    waiting: BTreeMap<u64, PmixToken>,
}

impl Daemon {
    pub(super) fn on_session_order(&mut self, order: SessionOrder, token: PmixToken, cx: &mut Cx) {
        let id = self.session_orders.next;
        self.session_orders.next += 1;
        self.session_orders.waiting.insert(id, token);
        cx.send_head(HeadMessage::SessionRequest { id, order });
    }

    pub(super) fn on_session_reply(&mut self, id: u64, result: Result<(), PmixStatus>, cx: &mut Cx) {
        if let Some(token) = self.session_orders.waiting.remove(&id) {
            let result = result.map(|()| Bytes::new());
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
        }
    }
}
