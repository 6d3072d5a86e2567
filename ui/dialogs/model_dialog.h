// ModelDialog: the options of `toy`, with what follows from them and why a combination is impossible, before it is
// used.
#pragma once

#include "core/model/builtin.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QLabel;
class QSpinBox;

namespace headscope {

class ModelDialog : public QDialog {
    Q_OBJECT
public:
    explicit ModelDialog(const ModelSource& present, QWidget* parent = nullptr);
    ModelSource source() const;

private:
    void createFields();
    void setFields(const ToyOptions& toy);
    ToyOptions options() const;
    void check();

    QSpinBox *m_dModel, *m_heads, *m_kvHeads, *m_dK, *m_dV, *m_layers, *m_seed;
    QComboBox* m_position;
    QCheckBox *m_bias, *m_residual;
    QLabel* m_verdict;
    QDialogButtonBox* m_buttons;
    bool m_cross = false;
    std::uint64_t m_largeSeed = 0; // as opened
};

} // namespace headscope
