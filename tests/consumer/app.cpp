// app.cpp - the same from C++: the header must be C++ too, and handles fit its smart pointers.
#include <motley/motley.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

static void check(mot_status status)
{
    if (status != MOT_OK)
        throw std::runtime_error(mot_error());
}

template <class T, void (*Close)(T *)> struct closer {
    void operator()(T *handle) const
    {
        Close(handle);
    }
};
using fleet_ptr = std::unique_ptr<mot_fleet, closer<mot_fleet, mot_fleet_close>>;
using model_ptr = std::unique_ptr<mot_model, closer<mot_model, mot_model_close>>;
using data_ptr = std::unique_ptr<mot_data, closer<mot_data, mot_data_close>>;
using trainer_ptr = std::unique_ptr<mot_trainer, closer<mot_trainer, mot_trainer_close>>;

template <class Pointer, class Open> static Pointer opened(Open open)
{
    typename Pointer::pointer handle = nullptr;
    check(open(&handle));
    return Pointer(handle);
}

static bool mistake_is_told()
{
    model_ptr net = opened<model_ptr>(mot_model_open);
    try {
        check(mot_model_text(net.get(), "input 784, dense many relu"));
    } catch (const std::runtime_error &error) {
        return std::string(error.what()).find("many") != std::string::npos;
    }
    return false;
}

static double train()
{
    fleet_ptr fleet =
        opened<fleet_ptr>([](mot_fleet **out) { return mot_fleet_open(nullptr, out); });
    data_ptr digits =
        opened<data_ptr>([](mot_data **out) { return mot_data_digits(1, 2000, out); });
    model_ptr net = opened<model_ptr>(mot_model_open);
    check(mot_model_input(net.get(), MOT_SHAPE(1, 28, 28)));
    check(mot_model_text(net.get(), "flatten, dense 64 relu, dense 10"));

    mot_trainer_config config = mot_trainer_config_default();
    trainer_ptr trainer = opened<trainer_ptr>(
        [&](mot_trainer **out) { return mot_trainer_open(fleet.get(), net.get(), &config, out); });
    mot_fit_config fit = mot_fit_config_default();
    fit.epochs = 2;
    fit.batch = 32;
    check(mot_fit(trainer.get(), digits.get(), nullptr, &fit, nullptr));
    mot_metrics metrics = {};
    check(mot_evaluate(trainer.get(), digits.get(), &metrics));
    return metrics.accuracy;
}

int main()
{
    try {
        if (!mistake_is_told()) {
            std::fprintf(stderr, "a mistake was not told of: \"%s\"\n", mot_error());
            return 1;
        }
        double accuracy = train();
        std::printf("accuracy %.3f\n", accuracy);
        return accuracy > 0.5 ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
