#include "ui/dialogs/model_dialog.h"

#include "core/tensor/errors.h"
#include "ui/stage_text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

namespace headscope {

ModelDialog::ModelDialog(const ModelSource& present, QWidget* parent) : QDialog(parent), m_cross(present.cross) {
    setWindowTitle(tr("Options of the model toy"));
    createFields();
    setFields(present.name == "toy" ? present.toy : ToyOptions());
    check();
}

static QSpinBox* addSpin(QFormLayout* form, const QString& label, int least, int most, const QString& toolTip) {
    auto* spin = new QSpinBox;
    spin->setRange(least, most);
    spin->setToolTip(toolTip);
    spin->setAccessibleName(label);
    form->addRow(label, spin);
    return spin;
}

void ModelDialog::createFields() {
    auto* column = new QVBoxLayout(this);
    auto* form = new QFormLayout;
    column->addLayout(form);
    m_dModel = addSpin(form, tr("d_model"), 1, 4096, tr("Width of a token's row in X"));
    m_heads = addSpin(form, tr("heads"), 1, 256, tr("Query heads of every layer"));
    m_kvHeads =
        addSpin(form, tr("key/value heads"), 0, 256, tr("Groups of query heads share them; auto: as many as heads"));
    m_dK = addSpin(form, tr("d_k"), 0, 4096, tr("Width of a query and a key; auto: d_model / heads"));
    m_dV = addSpin(form, tr("d_v"), 0, 4096, tr("Width of a value; auto: d_model / heads"));
    for (QSpinBox* spin : {m_kvHeads, m_dK, m_dV})
        spin->setSpecialValueText(tr("auto"));
    m_layers = addSpin(form, tr("layers"), 1, 64, tr("Attention layers, one after the other"));
    m_seed = addSpin(form, tr("seed"), 0, std::numeric_limits<int>::max(), tr("Another seed draws other weights"));
    m_position = new QComboBox;
    for (const Position p : {Position::None, Position::Sinusoidal, Position::Learned, Position::Rope, Position::Alibi})
        m_position->addItem(fromUtf8(positionName(p)), static_cast<int>(p));
    m_position->setToolTip(tr("How a token's place enters"));
    form->addRow(tr("position"), m_position);
    m_bias = new QCheckBox(tr("with biases"));
    m_residual = new QCheckBox(tr("residual between layers"));
    form->addRow(QString(), m_bias);
    form->addRow(QString(), m_residual);
    m_verdict = new QLabel;
    m_verdict->setWordWrap(true);
    m_verdict->setMinimumWidth(340);
    column->addWidget(m_verdict);
    m_buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    column->addWidget(m_buttons);
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    for (const QSpinBox* spin : {m_dModel, m_heads, m_kvHeads, m_dK, m_dV, m_layers, m_seed})
        connect(spin, &QSpinBox::valueChanged, this, &ModelDialog::check);
}

void ModelDialog::setFields(const ToyOptions& toy) {
    m_dModel->setValue(toy.dModel);
    m_heads->setValue(toy.heads);
    m_kvHeads->setValue(toy.kvHeads.value_or(0));
    m_dK->setValue(toy.dK.value_or(0));
    m_dV->setValue(toy.dV.value_or(0));
    m_layers->setValue(toy.layers);
    m_largeSeed = toy.seed;
    m_seed->setValue(static_cast<int>(std::min<std::uint64_t>(toy.seed, std::numeric_limits<int>::max())));
    m_position->setCurrentIndex(m_position->findData(static_cast<int>(toy.position)));
    m_bias->setChecked(toy.bias);
    m_residual->setChecked(toy.residual);
}

static std::optional<int> unlessAuto(const QSpinBox* spin) {
    return spin->value() == 0 ? std::nullopt : std::optional<int>(spin->value());
}

ToyOptions ModelDialog::options() const {
    ToyOptions toy;
    toy.dModel = m_dModel->value();
    toy.heads = m_heads->value();
    toy.kvHeads = unlessAuto(m_kvHeads);
    toy.dK = unlessAuto(m_dK);
    toy.dV = unlessAuto(m_dV);
    toy.layers = m_layers->value();
    // A seed that is larger than the field can show stays as long as nobody turns it.
    const bool untouched =
        m_largeSeed > static_cast<std::uint64_t>(m_seed->maximum()) && m_seed->value() == m_seed->maximum();
    toy.seed = untouched ? m_largeSeed : static_cast<std::uint64_t>(m_seed->value());
    toy.position = static_cast<Position>(m_position->currentData().toInt());
    toy.bias = m_bias->isChecked();
    toy.residual = m_residual->isChecked();
    return toy;
}

ModelSource ModelDialog::source() const {
    ModelSource source;
    source.name = "toy";
    source.toy = options();
    source.cross = m_cross;
    return source;
}

// What is impossible is said here, in numbers, before anything is drawn from the seed.
void ModelDialog::check() {
    const ToyOptions toy = options();
    const int kv = toy.kvHeads.value_or(toy.heads);
    QString verdict;
    if ((!toy.dK || !toy.dV) && toy.dModel % toy.heads != 0)
        verdict = tr("d_model %1 is not divisible by %2 heads: choose other numbers, or give d_k and d_v.")
                      .arg(toy.dModel)
                      .arg(toy.heads);
    else if (toy.heads % kv != 0)
        verdict = tr("%1 heads cannot be shared by %2 key/value heads: it must divide.").arg(toy.heads).arg(kv);
    const bool possible = verdict.isEmpty();
    if (possible) {
        const int dK = toy.dK.value_or(toy.dModel / toy.heads);
        const int dV = toy.dV.value_or(toy.dModel / toy.heads);
        verdict = tr("W_Q %1 × %2, W_K %1 × %3, W_V %1 × %4, W_O %5 × %1 in each of %6 layers")
                      .arg(toy.dModel)
                      .arg(toy.heads * dK)
                      .arg(kv * dK)
                      .arg(kv * dV)
                      .arg(toy.heads * dV)
                      .arg(toy.layers);
    }
    m_verdict->setText(verdict);
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(possible);
}

} // namespace headscope
