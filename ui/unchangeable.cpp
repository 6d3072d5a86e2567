#include "ui/unchangeable.h"

#include "core/model/captured_attention.h"
#include "ui/stage_text.h"

#include <QCoreApplication>

namespace headscope {

QString whyUnchangeable(const Scenario& scenario) {
    const CapturedAttention* captured = scenario.model ? scenario.model->captured() : nullptr;
    if (!captured)
        return {};
    return QCoreApplication::translate("headscope", "%1 holds attention that was captured: it is shown as it is, and "
                                                    "nothing is computed that could be changed.")
        .arg(fromUtf8(captured->file));
}

} // namespace headscope
